import { isoDate, romanianHolidays } from './holidays.ts';
import type { QuietHours, SkipDays } from './types.ts';
import { offsetAt } from './zone.ts';

/** Milliseconds of a day without a clock change. */
export const dayMs = 86_400_000;

/** Whether a day is skipped; the day as its number since 1970-01-01. */
export type DayTest = (day: number) => boolean;

/** Prepares a test of days; it reckons the holidays of a year once. Undefined when nothing is skipped. */
export function skippedDays(skip: SkipDays | undefined): DayTest | undefined {
  const weekdays = new Set(skip?.weekdays);
  const dates = new Set(skip?.dates);
  const holidays = skip?.holidays === 'RO';
  if (weekdays.size === 0 && dates.size === 0 && !holidays) return undefined;
  const years = new Map<string, Set<string>>();
  return (day) => {
    if (weekdays.has(weekdayOf(day))) return true;
    if (dates.size === 0 && !holidays) return false;
    const date = isoDate(day * dayMs);
    if (dates.has(date) || dates.has(date.slice(5))) return true;
    if (!holidays) return false;
    const year = date.slice(0, 4);
    let known = years.get(year);
    if (!known) years.set(year, (known = new Set(romanianHolidays(Number(year)).map((holiday) => holiday.date))));
    return known.has(date);
  };
}

/** Whether no weekday is left; a search that knows it need not go through 41 years of days. */
export function skipsEveryDay(skip: SkipDays | undefined): boolean {
  return [1, 2, 3, 4, 5, 6, 7].every((weekday) => skip?.weekdays?.includes(weekday));
}

/** Whether an instant lies on a skipped day of the zone. */
export function isSkippedDay(skip: SkipDays, instant: number, tz: string): boolean {
  return skippedDays(skip)?.(Math.floor((instant + offsetAt(instant, tz)) / dayMs)) ?? false;
}

/**
 * Whether an instant lies in the quiet span: its start included, its end not, by the clock on the wall. The span's own
 * zone prevails over `tz`. Equal start and end: a whole day from there. Throws a RangeError for times other than `HH:MM`.
 */
export function inQuietHours(quiet: QuietHours, instant: number, tz: string): boolean {
  const local = instant + offsetAt(instant, quiet.tz ?? tz);
  const day = Math.floor(local / dayMs);
  const time = local - day * dayMs;
  const start = timeOfDay(quiet.start);
  const end = timeOfDay(quiet.end);
  const begins = (on: number): boolean => quiet.days === undefined || quiet.days.includes(weekdayOf(on));
  if (start < end) return start <= time && time < end && begins(day);
  return (time >= start && begins(day)) || (time < end && begins(day - 1));
}

/** When the quiet span ends that an instant lies in, by the clock on the wall; undefined when it lies in none. */
export function quietUntil(quiet: QuietHours, instant: number, tz: string): number | undefined {
  if (!inQuietHours(quiet, instant, tz)) return undefined;
  const zone = quiet.tz ?? tz;
  const offset = offsetAt(instant, zone);
  const local = instant + offset;
  const time = local - Math.floor(local / dayMs) * dayMs;
  const left = timeOfDay(quiet.end) - time;
  const until = instant + (left > 0 ? left : left + dayMs);
  // Clocks may be turned before it ends.
  return until + offset - offsetAt(until, zone);
}

/** 1..7 from Monday; day 0 was a Thursday. */
function weekdayOf(day: number): number {
  return ((((day + 3) % 7) + 7) % 7) + 1;
}

function timeOfDay(text: string): number {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined) throw new RangeError(`'${text}' is not a time of day such as 22:00`);
  return (Number(hours) * 60 + Number(minutes)) * 60_000;
}
