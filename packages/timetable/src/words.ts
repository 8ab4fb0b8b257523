import { cronError } from './cron.ts';
import type { TimedTrigger } from './types.ts';
import { inPeriod, type Time } from './words.clock.ts';
import { type Meaning, parse } from './words.grammar.ts';
import type { Unit } from './words.lexicon.ts';
import { tokenize } from './words.tokens.ts';
import { spanAt } from './zone.ts';

/** The last that RFC 3339 can say. */
const lastInstant = Date.UTC(9999, 11, 31, 23, 59, 59);
/** Longer text is not read. */
const longest = 200;
/** A hundred years. */
const mostAhead: Partial<Record<Unit, number>> = { day: 36_500, week: 5_200, month: 1_200, year: 100 };
const seconds: Partial<Record<Unit, number>> = { second: 1, minute: 60, hour: 3_600, day: 86_400, week: 604_800 };

/**
 * Reads plain words, English or Romanian, with or without diacritics, as a trigger (document 2, preview). `now` is an
 * instant in milliseconds since the epoch, `tz` the zone that times are meant in. Undefined when any word is not
 * understood, or when no trigger can say it exactly. Never throws.
 */
export function understand(text: string, options: WordOptions): TimedTrigger | undefined {
  return readWords(text, options)?.trigger;
}

/** When words are read, and in which zone. */
interface WordOptions {
  now: number;
  tz: string;
}

/** Meaning of words; `isMoved`: the clock of that day skips their time, and the trigger is at the end of its gap. */
interface Read {
  trigger: TimedTrigger;
  isMoved: boolean;
}

/** The same as `understand`, and whether a change of clocks moved it. */
export function readWords(text: string, options: WordOptions): Read | undefined {
  if (text.length > longest) return undefined;
  const tokens = tokenize(text);
  // A number alone may be an hour, a day or a mistake.
  if (!tokens || tokens.length === 0 || (tokens.length === 1 && tokens[0]?.is === 'number')) return undefined;
  const meaning = parse(tokens);
  const timed = meaning && withPeriod(meaning);
  if (!timed) return undefined;
  const single = once(timed, options);
  const trigger = single ? undefined : (interval(timed) ?? cron(timed, options.tz));
  return single ?? (trigger && { trigger, isMoved: false });
}

/** Lays a part of the day that stands by itself (`duminica seara la 8`) on the times. */
function withPeriod({ period, ...meaning }: Meaning): Meaning | undefined {
  if (period === undefined) return meaning;
  const times = meaning.times?.map((time) => {
    const within = inPeriod(time, period);
    // `every evening at 8 am` contradicts itself.
    return time.period === undefined || within?.hour === time.hour ? within : undefined;
  });
  if (!times || times.includes(undefined)) return undefined;
  // The small hours of `friday night` are Saturday's.
  const isOfDay = has(meaning, 'weekdays', 'nth', 'monthDays', 'date', 'dayOffset');
  if (period === 'night' && isOfDay && times.some((time) => time && time.hour < 7)) return undefined;
  return { ...meaning, times: times as Time[] };
}

const has = (meaning: Meaning, ...keys: (keyof Meaning)[]): boolean => keys.some((key) => meaning[key] !== undefined);
const only = (meaning: Meaning, ...keys: (keyof Meaning)[]): boolean =>
  (Object.keys(meaning) as (keyof Meaning)[]).every((key) => keys.includes(key));

/** A single instant: `in 45 minutes`, `tomorrow at 8`, `on 24 december at 10:00`, `next friday at 9`. */
function once(meaning: Meaning, { now, tz }: WordOptions): Read | undefined {
  const here = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(tz);
  const { after, dayOffset, date, times, weekdays } = meaning;
  if (times && times.length > 1) return undefined;
  const time = times?.[0];
  if (after) {
    if (after.count < 1 || after.count > (mostAhead[after.unit] ?? after.count)) return undefined;
    if (only(meaning, 'after')) return inSpan(here, after);
    if (!only(meaning, 'after', 'times') || !time || mostAhead[after.unit] === undefined) return undefined;
    return at(here.toPlainDate().add({ [`${after.unit}s`]: after.count }), time, tz, now);
  }
  if (dayOffset !== undefined) {
    if (!only(meaning, 'dayOffset', 'times') || !time) return undefined;
    return at(here.toPlainDate().add({ days: dayOffset }), time, tz, now);
  }
  if (meaning.next && weekdays && only(meaning, 'next', 'weekdays', 'times')) {
    const days = (((weekdays[0] ?? 1) - here.dayOfWeek + 6) % 7) + 1;
    return at(here.toPlainDate().add({ days }), time ?? { hour: 0, minute: 0 }, tz, now);
  }
  if (!date || !only(meaning, 'date', 'times')) return undefined;
  // 29 February is at most eight years away.
  const years = date.year === undefined ? Array.from({ length: 9 }, (_, ahead) => here.year + ahead) : [date.year];
  for (const year of years) {
    const day = plainDate(year, date.month, date.day);
    const trigger = day && at(day, time ?? { hour: 0, minute: 0 }, tz, now);
    if (trigger) return trigger;
  }
  return undefined;
}

function inSpan(here: Temporal.ZonedDateTime, { count, unit }: { count: number; unit: Unit }): Read | undefined {
  if (count < 1) return undefined;
  const then = here.add({ [`${unit}s`]: count });
  // Days and more keep the time of day, hours and less do not.
  return mostAhead[unit] === undefined ? single(then.epochMilliseconds) : shownAs(then, here.toPlainTime());
}

const single = (ms: number, isMoved = false): Read => ({
  trigger: { type: 'at', at: new Date(ms).toISOString() },
  isMoved,
});

/** A local time that the clock does not show is its gap's end, as it is for cron. */
function shownAs(then: Temporal.ZonedDateTime, wanted: Temporal.PlainTime): Read {
  if (then.toPlainTime().equals(wanted)) return single(then.epochMilliseconds);
  return single(spanAt(then.epochMilliseconds, then.timeZoneId).from, true);
}

function plainDate(year: number, month: number, day: number): Temporal.PlainDate | undefined {
  const valid = month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
  return valid ? new Temporal.PlainDate(year, month, day) : undefined;
}

/** The instant of a local time; undefined when it is over. */
function at(date: Temporal.PlainDate, time: Time, tz: string, now: number): Read | undefined {
  const plainTime = new Temporal.PlainTime(time.hour, time.minute);
  const then = date.toZonedDateTime({ timeZone: tz, plainTime });
  const isAhead = then.epochMilliseconds > now && then.epochMilliseconds <= lastInstant;
  return isAhead ? shownAs(then, plainTime) : undefined;
}

/** `every 15 minutes`, with nothing that ties it to the clock or the calendar. */
function interval(meaning: Meaning): TimedTrigger | undefined {
  const { every } = meaning;
  const unit = every && seconds[every.unit];
  if (!every || unit === undefined || !only(meaning, 'every')) return undefined;
  const everySeconds = every.count * unit;
  return everySeconds >= 1 && everySeconds <= 31_536_000 ? { type: 'interval', every_s: everySeconds } : undefined;
}

function cron(meaning: Meaning, tz: string): TimedTrigger | undefined {
  if (has(meaning, 'after', 'dayOffset', 'next')) return undefined;
  const clock = clockFields(meaning);
  const calendar = calendarFields(meaning);
  if (!clock || !calendar) return undefined;
  const expr = `${clock} ${calendar}`;
  return cronError(expr) === undefined ? { type: 'cron', expr, tz } : undefined;
}

/** Minute and hour. */
function clockFields({ every, times, window, minuteOfHour }: Meaning): string | undefined {
  if (minuteOfHour !== undefined)
    return times || every?.unit !== 'hour' ? undefined : hourFields(every, window, minuteOfHour);
  const isWithinDay = every?.unit === 'minute' || every?.unit === 'hour';
  if (every?.unit === 'second' || (window && !isWithinDay)) return undefined;
  if (!isWithinDay) return timeFields(times ?? [{ hour: 0, minute: 0 }]);
  if (times) return undefined;
  if (window && (window.from.minute !== 0 || window.to.minute !== 0 || window.from.hour >= window.to.hour)) {
    return undefined;
  }
  if (every.unit === 'minute') {
    if (every.count < 1 || 60 % every.count !== 0) return undefined;
    // Up to, not including, the hour at which the window ends.
    const hours = window ? hourRange(window.from.hour, window.to.hour - 1) : '*';
    const step = every.count === 1 ? '*' : every.count === 60 ? '0' : `*/${every.count}`;
    return `${step} ${hours}`;
  }
  return hourFields(every, window, 0);
}

function hourFields({ count }: { count: number }, window: Meaning['window'], minute: number): string | undefined {
  if (count < 1 || 24 % count !== 0) return undefined;
  if (window && (window.from.minute !== 0 || window.to.minute !== 0 || window.from.hour >= window.to.hour))
    return undefined;
  const hours = window ? `${window.from.hour}-${window.to.hour}` : '*';
  return `${minute} ${count === 1 ? hours : `${hours}/${count}`}`;
}

const hourRange = (from: number, to: number): string => (from === to ? `${from}` : `${from}-${to}`);

/** Several times share the minute or the hour, or one expression cannot say them. */
function timeFields(times: readonly Time[]): string | undefined {
  const sorted = (values: Iterable<number>): string => [...new Set(values)].sort((a, b) => a - b).join(',');
  const minutes = sorted(times.map((time) => time.minute));
  const hours = sorted(times.map((time) => time.hour));
  return minutes.includes(',') && hours.includes(',') ? undefined : `${minutes} ${hours}`;
}

/** Day of month, month and day of week. */
function calendarFields(meaning: Meaning): string | undefined {
  const { every, weekdays, nth, monthDays, date } = meaning;
  const isSingle = every === undefined || every.count === 1;
  const said = [weekdays, nth, monthDays, date].filter((value) => value !== undefined).length;
  if (said > 1) return undefined;
  if (date) return every?.unit === 'year' && isSingle ? `${date.day} ${date.month} *` : undefined;
  const months = every?.unit === 'month' ? monthStep(every.count) : '*';
  if (months === undefined || (every?.unit === 'year' && said > 0)) return undefined;
  if (nth)
    return isDayOrMonth(every?.unit)
      ? `* ${months} ${nth.n === 0 ? `${nth.weekday}L` : `${nth.weekday}#${nth.n}`}`
      : undefined;
  if (monthDays) {
    const days = monthDays.map((day) => (day === 0 ? 'L' : day)).join(',');
    return isDayOrMonth(every?.unit) ? `${days} ${months} *` : undefined;
  }
  if (weekdays) return weekdayField(every, weekdays);
  if (every?.unit === 'year') return isSingle ? '1 1 *' : undefined;
  if (every?.unit === 'month') return `1 ${months} *`;
  // Every two days, or every week on no day: a calendar has no such days.
  const isDaily =
    every === undefined ? meaning.times === undefined : every.unit === 'week' || (every.unit === 'day' && !isSingle);
  return isDaily ? undefined : '* * *';
}

const isDayOrMonth = (unit: Unit | undefined): boolean => unit === undefined || unit === 'month';
const monthStep = (count: number): string | undefined =>
  count === 1 ? '*' : count > 1 && 12 % count === 0 ? `*/${count}` : undefined;

function weekdayField(every: Meaning['every'], weekdays: readonly number[]): string | undefined {
  const unit = every?.unit;
  if (unit === 'month' || unit === 'year') return undefined;
  if ((unit === 'week' || unit === 'day') && every?.count !== 1) return undefined;
  const days = weekdays.map((day) => day % 7).sort((a, b) => a - b);
  const isRun = days.length > 2 && days.every((day, i) => i === 0 || day === (days[i - 1] as number) + 1);
  return `* * ${isRun ? `${days[0]}-${days.at(-1)}` : days.join(',')}`;
}
