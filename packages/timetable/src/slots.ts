import { dayMs, type DayTest, skippedDays, skipsEveryDay } from './days.ts';
import { type Pattern, patternOf } from './pattern.ts';
import type { SkipDays, TimedTrigger } from './types.ts';
import { defaultZone, type Span, spanAfter, spanAt } from './zone.ts';

/** Options of a schedule's slots besides its trigger; instants are milliseconds since the epoch. */
export interface SlotOptions {
  /** An interval's slots are whole intervals after this instant. */
  anchor: number;
  /** Zone of a trigger that names none; `defaultZone` when absent. */
  tz?: string | undefined;
  skipDays?: SkipDays | undefined;
  /** At most this many slots. */
  limit: number;
}

/** The rarest expression, a 29 February on one weekday, leaves 40 years between two slots. */
const giveUpMs = 41 * 366 * dayMs;
/** Slots are looked for within these instants. */
const earliest = Date.UTC(1900, 0, 1);
const latest = Date.UTC(9999, 0, 1);

interface Search {
  pattern: Pattern;
  skipped: DayTest | undefined;
  tz: string;
  limit: number;
  found: number[];
  /** Slots lie after `from`, up to and including `to`; the far one of them moves with what is found. */
  from: number;
  to: number;
}

/**
 * The slots strictly after an instant, up to and including `until`, rising, without those on skipped days. Fewer than
 * `limit` when 41 years pass without a slot. Throws for a trigger or a zone that is not valid.
 */
export function slotsAfter(
  trigger: TimedTrigger,
  options: SlotOptions & { after: number; until?: number | undefined },
): number[] {
  const until = Math.min(options.until ?? latest, latest);
  const from = Math.max(options.after, earliest);
  const end = trigger.type === 'at' ? until : Math.min(until, from + giveUpMs);
  const search = searchOf(trigger, options, from, end);
  if (!(from < until && search.limit > 0)) return search.found;
  for (let span = spanAt(from, search.tz); ; span = spanAfter(span, search.tz)) {
    searchForward(search, span, until);
    if (search.found.length >= search.limit || span.to > search.to) return search.found;
  }
}

/**
 * The last `limit` slots after `from`, up to and including `to`, rising, without those on skipped days. Costs what the
 * slots returned cost, however many there are. Throws for a trigger or a zone that is not valid.
 */
export function missedSlots(trigger: TimedTrigger, options: SlotOptions & { from: number; to: number }): number[] {
  const from = Math.max(options.from, earliest);
  const to = Math.min(options.to, latest);
  const search = searchOf(trigger, options, Math.max(from, to - giveUpMs), to);
  if (!(from < to && search.limit > 0)) return search.found;
  for (let span = spanAt(to, search.tz); ; span = spanAt(span.from - 1, search.tz)) {
    searchBackward(search, span, from);
    if (search.found.length >= search.limit || span.from <= search.from) return search.found.toReversed();
  }
}

/** Options that let `hasClockChange` see slots that a clock change took away. */
export interface LostSlotOptions {
  /** Where the search of the slots began; their first one when absent. */
  after?: number | undefined;
  skipDays?: SkipDays | undefined;
}

/**
 * Whether a clock change touches these slots: one was moved out of a gap, one's local time exists twice, or a gap
 * swallowed one between them (an expression with `*` in minute or hour has no slot there).
 */
export function hasClockChange(
  trigger: TimedTrigger,
  slots: readonly number[],
  tz: string = defaultZone,
  { after, skipDays }: LostSlotOptions = {},
): boolean {
  const first = slots[0];
  const last = slots.at(-1);
  if (first === undefined || last === undefined) return false;
  const zone = zoneOf(trigger, tz);
  const cron = trigger.type === 'cron' ? patternOf(trigger, 0) : undefined;
  const skipped = skippedDays(skipDays);
  const start = after ?? first - 1;
  const touches = (span: Span): boolean => {
    const { from, before, offset } = span;
    const repeated = before - offset;
    if (repeated > 0) return slots.some((slot) => slot >= from - repeated && slot < from + repeated);
    if (repeated === 0 || cron === undefined) return false;
    const inGap = cron.next(from + before, before);
    if (inGap >= from + offset) return false;
    if (cron.fixed) return slots.includes(from);
    return from > start && from <= last && !skipped?.(Math.floor(inGap / dayMs));
  };
  // The times that a change repeats begin before it: a day is more than any change turns back.
  for (let span = spanAt(Math.min(start, first), zone); ; span = spanAfter(span, zone)) {
    if (touches(span)) return true;
    if (span.to > last + dayMs) return false;
  }
}

function zoneOf(trigger: TimedTrigger, tz: string | undefined): string {
  return (trigger.type === 'cron' ? trigger.tz : undefined) ?? tz ?? defaultZone;
}

function searchOf(trigger: TimedTrigger, options: SlotOptions, from: number, to: number): Search {
  return {
    pattern: patternOf(trigger, options.anchor),
    skipped: skippedDays(options.skipDays),
    tz: zoneOf(trigger, options.tz),
    limit: skipsEveryDay(options.skipDays) ? 0 : options.limit,
    found: [],
    from,
    to,
  };
}

/** Whether the gap before a span swallowed slots that keep to the clock: they run once, when the span begins. */
function movedInto(pattern: Pattern, { from, offset, before }: Span): boolean {
  return pattern.fixed && offset > before && pattern.next(from + before, before) < from + offset;
}

/** The first local time of a span that counts: one that the span before had is not run again when slots are fixed. */
function firstLocal(pattern: Pattern, { from, offset, before }: Span): number {
  return from + (pattern.fixed ? Math.max(offset, before) : offset);
}

function searchForward(search: Search, span: Span, until: number): void {
  const { pattern, skipped, found } = search;
  const { offset } = span;
  let local = Math.max(search.from + 1 + offset, firstLocal(pattern, span));
  let moved = span.from > search.from && movedInto(pattern, span);
  while (found.length < search.limit) {
    const at = moved ? span.from + offset : pattern.next(local, offset);
    const slot = at - offset;
    if (slot >= span.to || slot > search.to) return;
    const day = Math.floor(at / dayMs);
    if (skipped?.(day)) {
      local = (day + 1) * dayMs;
    } else {
      found.push(slot);
      search.to = Math.min(until, slot + giveUpMs);
      local = at + 1;
    }
    moved = false;
  }
}

function searchBackward(search: Search, span: Span, since: number): void {
  const { pattern, skipped, found } = search;
  const { offset } = span;
  const moved = movedInto(pattern, span) ? span.from + offset : Number.NEGATIVE_INFINITY;
  const first = firstLocal(pattern, span);
  let local = Math.min(search.to, span.to - 1) + offset;
  while (found.length < search.limit) {
    const previous = pattern.previous(local, offset);
    const at = previous >= first ? previous : moved;
    const slot = at - offset;
    if (slot > local - offset || slot < span.from || slot <= search.from) return;
    const day = Math.floor(at / dayMs);
    if (skipped?.(day)) {
      local = day * dayMs - 1;
    } else {
      found.push(slot);
      search.from = Math.max(since, slot - giveUpMs);
      local = at - 1;
    }
  }
}
