/** A cron expression, read: which seconds of a day it names, and which days. */
export interface Cron {
  /** Neither minute nor hour begins with `*`: a slot in a gap is moved, one in an overlap runs once. */
  fixed: boolean;
  second: Field;
  minute: Field;
  hour: Field;
  /** Bit m for month m, 1..12. */
  months: number;
  /** Bit d for day d, 1..31. */
  days: number;
  lastDay: boolean;
  /** For each weekday from Sunday: bits 1..5 for its first to fifth in a month, bit 6 for its last. */
  weekdays: readonly number[];
  /** Both the day and the weekday must agree; otherwise one of them suffices. */
  both: boolean;
}

/** A field as two tables: for every value the nearest member at or above it, and at or below it; -1: none. */
interface Field {
  next: Int8Array;
  previous: Int8Array;
}

interface FieldRule {
  name: string;
  low: number;
  high: number;
  names?: readonly string[];
}

const rules = {
  second: { name: 'second', low: 0, high: 59 },
  minute: { name: 'minute', low: 0, high: 59 },
  hour: { name: 'hour', low: 0, high: 23 },
  day: { name: 'day of month', low: 1, high: 31 },
  month: {
    name: 'month',
    low: 1,
    high: 12,
    names: ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  // 0 and 7 are Sunday, so that `fri-sun` and `5-7` are ranges.
  weekday: { name: 'day of week', low: 0, high: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
} satisfies Record<string, FieldRule>;

const macros = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
]);

const longest = 200;
const everyWeek = 0b111110;
const lastWeek = 0b1000000;

/** An error in an expression, for the caller who wrote it. */
class CronFault extends Error {}

/**
 * The error in a cron expression; undefined for a valid one. Five fields, six with seconds first, or a macro
 * such as `@daily`; one that never fires is wrong too. Never throws.
 */
export function cronError(expr: string): string | undefined {
  try {
    parseCron(expr);
    return undefined;
  } catch (error) {
    if (error instanceof CronFault) return error.message;
    throw error;
  }
}

const steppedFields = [
  { unit: 'minutes', size: 60 },
  { unit: 'hours', size: 24 },
] as const;

/**
 * What a valid expression may not mean as it reads: a step that does not divide its hour or day leaves a shorter gap at
 * its end, as every 55 minutes of an hour do. Undefined: nothing.
 */
export function cronHint(expr: string): string | undefined {
  const fields = expr.trim().split(/[ \t]+/);
  const own = fields.length === 6 ? fields.slice(1) : fields;
  for (const [at, { unit, size }] of steppedFields.entries()) {
    const [, end, text] = /^(?:\*|0|0-(\d+))\/(\d+)$/.exec(own[at] ?? '') ?? [];
    const step = Number(text);
    const isWhole = end === undefined || Number(end) === size - 1;
    // In one hour of a day there is no next one.
    const goesOn = unit === 'hours' || /^\*(?:\/1)?$/.test(own[1] ?? '');
    if (!isWhole || !goesOn || !(step > 1) || step >= size || size % step === 0) continue;
    const last = size - step * Math.floor((size - 1) / step);
    return `gaps of ${step} and ${last} ${unit}: ${size} is no multiple of ${step}`;
  }
  return undefined;
}

/** Reads an expression. Throws an Error with the message of `cronError` when it is wrong. */
export function parseCron(expr: string): Cron {
  if (expr.length > longest) throw new CronFault(`a cron expression has at most ${longest} characters`);
  // Spaces and tabs only: a line break would be a second line in a crontab.
  const text = expr.replace(/^[ \t]+|[ \t]+$/g, '');
  if (/^(?:CRON_)?TZ=/i.test(text)) throw new CronFault('has its time zone in `tz`, not before the expression');
  const macro = text.startsWith('@') ? macros.get(text.toLowerCase()) : text;
  if (macro === undefined) throw new CronFault(`unknown macro; known are ${[...macros.keys()].join(', ')}`);
  const fields = macro.toLowerCase().split(/[ \t]+/);
  if (fields.length === 5) fields.unshift('0');
  const [second, minute, hour, day, month, weekday] = fields;
  if (fields.length !== 6 || !second || !minute || !hour || !day || !month || !weekday) {
    throw new CronFault('a cron expression has 5 fields, or 6 with seconds first');
  }
  const { days, lastDay } = readDays(day);
  const cron: Cron = {
    fixed: !minute.startsWith('*') && !hour.startsWith('*'),
    second: readField(second, rules.second),
    minute: readField(minute, rules.minute),
    hour: readField(hour, rules.hour),
    months: bits(month.split(',').flatMap((item) => readItem(item, rules.month))),
    days,
    lastDay,
    weekdays: readWeekdays(weekday),
    both: day.startsWith('*') || weekday.startsWith('*'),
  };
  if (!everFires(cron)) throw new CronFault('this never fires: no month has such a day');
  return cron;
}

function bits(values: readonly number[]): number {
  let mask = 0;
  for (const value of values) mask |= 1 << value;
  return mask;
}

function readField(text: string, rule: FieldRule): Field {
  const next = new Int8Array(rule.high + 1).fill(-1);
  for (const item of text.split(',')) for (const value of readItem(item, rule)) next[value] = value;
  const previous = next.slice();
  for (let i = 1; i < previous.length; i += 1) if (previous[i] === -1) previous[i] = previous[i - 1] ?? -1;
  for (let i = next.length - 2; i >= 0; i -= 1) if (next[i] === -1) next[i] = next[i + 1] ?? -1;
  return { next, previous };
}

function readDays(text: string): { days: number; lastDay: boolean } {
  const items = text.split(',');
  const numbered = items.filter((item) => item !== 'l');
  return {
    days: bits(numbered.flatMap((item) => readItem(item, rules.day))),
    lastDay: numbered.length < items.length,
  };
}

function readWeekdays(text: string): number[] {
  const weeks = [0, 0, 0, 0, 0, 0, 0];
  for (const item of text.split(',')) {
    const [, name, nth] = /^([a-z0-9]+)(?:#([1-5])|l)$/.exec(item) ?? [];
    const week = name === undefined ? everyWeek : nth === undefined ? lastWeek : 1 << Number(nth);
    const values = name === undefined ? readItem(item, rules.weekday) : [readValue(name, rules.weekday)];
    for (const value of values) weeks[value % 7] = (weeks[value % 7] ?? 0) | week;
  }
  return weeks;
}

/** The values of one item of a list: `*`, a value or a range, the first and the last perhaps with a step. */
function readItem(item: string, rule: FieldRule): number[] {
  const [, from, to, step] = /^(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:\/(\d{1,2}))?$/.exec(item) ?? [];
  const size = rule.high - rule.low + 1;
  if (from === undefined || (from === '*' && to !== undefined)) {
    throw new CronFault(`${rule.name}: '${item}' is not understood`);
  }
  if (step !== undefined && from !== '*' && to === undefined) {
    throw new CronFault(`${rule.name}: a step needs a range, as in ${from}-${rule.high}/${step}`);
  }
  const every = step === undefined ? 1 : Number(step);
  if (every < 1 || every > size) throw new CronFault(`${rule.name}: a step is 1 to ${size}`);
  const first = from === '*' ? rule.low : readValue(from, rule);
  const last = from === '*' ? rule.high : to === undefined ? first : readValue(to, rule, true);
  if (last < first) throw new CronFault(`${rule.name}: '${item}' runs backwards`);
  const values: number[] = [];
  for (let value = first; value <= last; value += every) values.push(value);
  return values;
}

function readValue(text: string, rule: FieldRule, endsRange = false): number {
  const named = rule.names?.indexOf(text) ?? -1;
  if (named === 0 && endsRange) return 7;
  const value = named >= 0 ? named : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= rule.low && value <= rule.high) return value;
  throw new CronFault(`${rule.name}: '${text}' is not within ${rule.low} to ${rule.high}`);
}

/** Every month begins on each weekday, and February in both lengths, within 400 years. */
function everFires(cron: Cron): boolean {
  for (let month = 1; month <= 12; month += 1) {
    if ((cron.months & (1 << month)) === 0) continue;
    const length = month === 2 ? 29 : [4, 6, 9, 11].includes(month) ? 30 : 31;
    const lengths = month === 2 ? [28, 29] : [length];
    for (const days of lengths) {
      for (let weekday = 0; weekday < 7; weekday += 1) if (daysOfMonth(cron, weekday, days) !== 0) return true;
    }
  }
  return false;
}

/**
 * The days of a month that the expression names: bit d for day d. `weekday` (0 is Sunday) is that of the first,
 * `length` the number of its days. Whether the month is named at all is the caller's question.
 */
export function daysOfMonth(cron: Cron, weekday: number, length: number): number {
  const all = length === 31 ? -2 : (1 << (length + 1)) - 2;
  const byDay = (cron.days | (cron.lastDay ? 1 << length : 0)) & all;
  let byWeekday = 0;
  for (let day = 1; day <= length; day += 1) {
    const weeks = cron.weekdays[(weekday + day - 1) % 7] ?? 0;
    const week = 1 << Math.ceil(day / 7);
    if ((weeks & week) !== 0 || ((weeks & lastWeek) !== 0 && day + 7 > length)) byWeekday |= 1 << day;
  }
  return cron.both ? byDay & byWeekday : byDay | byWeekday;
}

/** The first second of a day (0..86399) that the expression names, at or after `second`; -1: none. */
export function timeFrom(cron: Cron, second: number): number {
  const at = Math.floor(second / 3600);
  const hour = member(cron.hour.next, at);
  if (hour === -1) return -1;
  if (hour > at) return hour * 3600 + inHour(cron, 0);
  const rest = inHour(cron, second - at * 3600);
  if (rest !== -1) return hour * 3600 + rest;
  const later = member(cron.hour.next, at + 1);
  return later === -1 ? -1 : later * 3600 + inHour(cron, 0);
}

function inHour(cron: Cron, second: number): number {
  const at = Math.floor(second / 60);
  const minute = member(cron.minute.next, at);
  if (minute === -1) return -1;
  const rest = member(cron.second.next, minute > at ? 0 : second - at * 60);
  if (rest !== -1) return minute * 60 + rest;
  const later = member(cron.minute.next, at + 1);
  return later === -1 ? -1 : later * 60 + member(cron.second.next, 0);
}

/** The last second of a day that the expression names, at or before `second`; -1: none. */
export function timeUpTo(cron: Cron, second: number): number {
  const at = Math.floor(second / 3600);
  const hour = member(cron.hour.previous, at);
  if (hour === -1) return -1;
  if (hour < at) return hour * 3600 + upToInHour(cron, 3599);
  const rest = upToInHour(cron, second - at * 3600);
  if (rest !== -1) return hour * 3600 + rest;
  const earlier = member(cron.hour.previous, at - 1);
  return earlier === -1 ? -1 : earlier * 3600 + upToInHour(cron, 3599);
}

function upToInHour(cron: Cron, second: number): number {
  const at = Math.floor(second / 60);
  const minute = member(cron.minute.previous, at);
  if (minute === -1) return -1;
  const rest = member(cron.second.previous, minute < at ? 59 : second - at * 60);
  if (rest !== -1) return minute * 60 + rest;
  const earlier = member(cron.minute.previous, at - 1);
  return earlier === -1 ? -1 : earlier * 60 + member(cron.second.previous, 59);
}

const member = (table: Int8Array, value: number): number => table[value] ?? -1;
