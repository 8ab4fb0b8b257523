import { type Cron, daysOfMonth, parseCron, timeFrom, timeUpTo } from './cron.ts';
import { dayMs } from './days.ts';
import type { TimedTrigger } from './types.ts';

/**
 * Where a trigger's slots lie on a local clock: milliseconds as if the clock showed UTC. `offset` is what the clock is
 * ahead of UTC, for triggers that do not go by it.
 */
export interface Pattern {
  /** Slots keep to the clock across a change: moved out of a gap, once in an overlap. */
  fixed: boolean;
  /** The first at or after `local`; Infinity: none. */
  next(local: number, offset: number): number;
  /** The last at or before `local`; -Infinity: none. */
  previous(local: number, offset: number): number;
}

/** The pattern of a trigger. `anchor` is the instant an interval counts from. Throws for a trigger that is not valid. */
export function patternOf(trigger: TimedTrigger, anchor: number): Pattern {
  if (trigger.type === 'cron') return cronPattern(parseCron(trigger.expr));
  if (trigger.type === 'interval') return intervalPattern(trigger.every_s, anchor);
  return atPattern(Temporal.Instant.from(trigger.at).epochMilliseconds);
}

function atPattern(at: number): Pattern {
  return {
    fixed: false,
    next: (local, offset) => (at + offset >= local ? at + offset : Number.POSITIVE_INFINITY),
    previous: (local, offset) => (at + offset <= local ? at + offset : Number.NEGATIVE_INFINITY),
  };
}

function intervalPattern(seconds: number, anchor: number): Pattern {
  if (!(seconds >= 1)) throw new RangeError('an interval is at least 1 s');
  const step = seconds * 1000;
  return {
    fixed: false,
    next(local, offset) {
      const k = Math.max(1, Math.ceil((local - offset - anchor) / step));
      return anchor + k * step + offset;
    },
    previous(local, offset) {
      const k = Math.floor((local - offset - anchor) / step);
      return k < 1 ? Number.NEGATIVE_INFINITY : anchor + k * step + offset;
    },
  };
}

function cronPattern(cron: Cron): Pattern {
  const firstTime = timeFrom(cron, 0);
  const lastTime = timeUpTo(cron, 86_399);
  return {
    fixed: cron.fixed,
    next(local) {
      const second = Math.ceil(local / 1000);
      const day = Math.floor(second / 86_400);
      const time = timeFrom(cron, second - day * 86_400);
      const found = dayFrom(cron, time === -1 ? day + 1 : day);
      return found * dayMs + (found === day ? time : firstTime) * 1000;
    },
    previous(local) {
      const second = Math.floor(local / 1000);
      const day = Math.floor(second / 86_400);
      const time = timeUpTo(cron, second - day * 86_400);
      const found = dayUpTo(cron, time === -1 ? day - 1 : day);
      return found * dayMs + (found === day ? time : lastTime) * 1000;
    },
  };
}

/** The first day that the expression names, at or after one. There is one within 40 years: it was refused otherwise. */
function dayFrom(cron: Cron, day: number): number {
  const date = new Date(day * dayMs);
  let month = date.getUTCFullYear() * 12 + date.getUTCMonth();
  let rest = -1 << date.getUTCDate();
  for (;;) {
    const first = firstDayOf(month);
    const days = namedDays(cron, month, first) & rest;
    // The lowest bit that is set.
    if (days !== 0) return first + 30 - Math.clz32(days & -days);
    month += 1;
    rest = -1;
  }
}

/** The last day that the expression names, at or before one. */
function dayUpTo(cron: Cron, day: number): number {
  const date = new Date(day * dayMs);
  let month = date.getUTCFullYear() * 12 + date.getUTCMonth();
  let rest = date.getUTCDate() === 31 ? -1 : (2 << date.getUTCDate()) - 1;
  for (;;) {
    const first = firstDayOf(month);
    const days = namedDays(cron, month, first) & rest;
    if (days !== 0) return first + 30 - Math.clz32(days);
    month -= 1;
    rest = -1;
  }
}

function namedDays(cron: Cron, month: number, first: number): number {
  if ((cron.months & (2 << (month % 12))) === 0) return 0;
  return daysOfMonth(cron, (((first + 4) % 7) + 7) % 7, firstDayOf(month + 1) - first);
}

/** Number of a month's first day since 1970-01-01; months count from year 0. */
function firstDayOf(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, 1) / dayMs;
}
