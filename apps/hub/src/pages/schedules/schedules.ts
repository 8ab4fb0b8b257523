import { api } from '../../api/client.ts';
import type { Words } from '../../words/words.tsx';

/** A schedule of the API. */
export type ScheduleRecord = Awaited<ReturnType<typeof api.schedules.get>>;
/** A run with its work and its attempts. */
export type RunRecord = Awaited<ReturnType<typeof api.scheduler.getRun>>;
/** A run as it is listed. */
export type ListedRun = Awaited<ReturnType<typeof api.scheduler.runs>>['runs'][number];

/** What a schedule does, as one line: its command, address or prompt. */
export function workOf(spec: Record<string, unknown> | undefined): string {
  for (const name of ['command', 'url', 'prompt', 'action']) {
    const value = spec?.[name];
    if (typeof value === 'string') return value;
  }
  return '';
}

/** When it runs, in words. */
export function triggerWords({ trigger }: Pick<ScheduleRecord, 'trigger'>, words: Words, every: string): string {
  if (trigger.type === 'cron') return trigger.expr;
  if (trigger.type === 'interval') return words.monitors.every(every);
  return words.schedules.triggers[trigger.type];
}
