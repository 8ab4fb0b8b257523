import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Status } from '../../ui/Status.tsx';
import { Clock } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { type Overview, readOverview } from '../now/overview.ts';

/** A pause of all schedules, for ever or until an instant; undefined: there is none. */
export type Pause = Overview['paused'];

/** The pause of all schedules, from the answer that the first page and the menu read. */
export const usePause = (): Pause => useAnswer(['overview'], readOverview).data?.paused;

/** Whether what is planned for an instant runs. */
export const isPromised = (at: string, pause: Pause): boolean =>
  pause === undefined || (pause.until !== undefined && Date.parse(at) >= Date.parse(pause.until));

/** Says that all schedules are paused, and until when. */
export function PausedText({ pause }: { pause: NonNullable<Pause> }) {
  const words = useWords();
  if (pause.until === undefined) return <>{words.schedules.allPaused}</>;
  return (
    <>
      {words.schedules.allPausedUntil} <Clock at={pause.until} />
    </>
  );
}

/** Whether a schedule runs by itself. */
export function OnOff({ isOn, pause }: { isOn: boolean; pause: Pause }) {
  const text = useWords().schedules;
  if (!isOn) return <Status tone="rest">{text.off}</Status>;
  return pause ? <Status tone="rest">{text.paused}</Status> : <Status tone="good">{text.on}</Status>;
}

/** The same over a page, with the button that ends it. */
export function PausedNote({ pause }: { pause: Pause }) {
  const words = useWords();
  const acts = useActs();
  if (pause === undefined) return null;
  return (
    <div class="box note">
      <div>
        <PausedText pause={pause} />
      </div>
      <Button
        icon="play"
        onPress={() =>
          acts.send('schedules.resume', { body: {} }, words.schedules.allResumed, ['overview', 'schedules'])
        }
      >
        {words.now.resumeAll}
      </Button>
    </div>
  );
}
