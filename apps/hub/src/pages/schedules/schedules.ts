import { api } from '../../api/client.ts';
import type { Words } from '../../words/words.tsx';
import { cronWords } from './cron.rules.ts';

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

/** Of a cron expression that names no zone. */
const defaultZone = 'Europe/Bucharest';

/** When it runs, in words; with its zone, where that is not the person's. */
export function triggerWords(
  { trigger }: Pick<ScheduleRecord, 'trigger'>,
  words: Words,
  every: string,
  { locale, zone }: { locale: string; zone: string },
): string {
  if (trigger.type === 'cron') {
    const { expr, tz = defaultZone } = trigger;
    const text = cronWords(expr, words.schedules.times, locale);
    return tz === zone ? text : `${text} ${tz}`;
  }
  if (trigger.type === 'interval') return words.monitors.every(every);
  return words.schedules.triggers[trigger.type];
}

/** After which runs a person may be told; the first is what the API takes for none. */
export const tellings = ['on_failure', 'on_change', 'always', 'never'] as const;
