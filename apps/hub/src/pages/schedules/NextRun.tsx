import { now } from '../../api/clock.ts';
import { Status } from '../../ui/Status.tsx';
import { Clock } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';

/** A slot is taken within a second of its time, on a platform that works. */
const lateMs = 10_000;

/** Whether a slot should have been taken by now. */
export const isLate = (at: string): boolean => now() - Date.parse(at) > lateMs;

/** When a schedule runs next, and whether it is late. */
export function NextRun({ at }: { at: string }) {
  const text = useWords().schedules;
  return (
    <span>
      {isLate(at) && <Status tone="warn">{text.late}</Status>} <Clock at={at} />
    </span>
  );
}
