import { dateFormat } from '../../ui/time.rules.ts';
import type { runsEn } from '../../words/en.runs.ts';

/** A day of which the n-th of the week is n, Sunday first. */
const dayOfWeek = (n: number): Date => new Date(Date.UTC(2026, 0, 4 + n));

/** The commonest cron expressions in words; the others as they are. */
export function cronWords(expr: string, times: typeof runsEn.schedules.times, locale: string): string {
  const [, minute, hour, days = ''] = /^(\d{1,2}) (\d{1,2}) \* \* (\*|1-5|[0-7])$/.exec(expr) ?? [];
  if (minute === undefined || hour === undefined) return expr;
  const at = `${hour}:${minute.padStart(2, '0')}`;
  if (days === '*') return times.daily(at);
  if (days === '1-5') return times.weekdays(at);
  const name = dateFormat(locale, { weekday: 'long', timeZone: 'UTC' }).format(dayOfWeek(Number(days) % 7));
  return times.weekly(name, at);
}
