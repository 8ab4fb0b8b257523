import { setImmediate as nextTurn } from 'node:timers/promises';
import { nextSlots } from '../schedules.rules.ts';
import type { TimedRow } from './calendar.sql.ts';

/** A time: later than `after`, and earlier than `to`; milliseconds. */
interface Time {
  after: number;
  to: number;
}

/** A slot of a schedule; `at` in milliseconds. */
interface Slot {
  row: TimedRow;
  at: number;
}

/** What is known of a schedule's slots in the time: all of them up to `until`. */
interface Known {
  row: TimedRow;
  slots: number[];
  until: number;
}

/** Calendars are searched 25 at a time, 2 to 4 ms: others of the process go on between. */
const searchedAtOnce = 25;
/** 80 to 120 ms in all; then what was found is answered as cut. */
const mostSearches = 1_000;
const firstBatch = 5;
const mostBatch = 320;

/**
 * The first `limit` slots of these schedules in a time, in order, and whether that is not all. The slots that stand in the
 * rows come first; a calendar is searched where they do not last, and no further than it is needed.
 */
export async function mergeSlots(
  rows: readonly TimedRow[],
  time: Time,
  limit: number,
): Promise<{ slots: Slot[]; truncated: boolean }> {
  const all = rows.map((row) => storedOf(row, time));
  let searches = 0;
  for (let batch = firstBatch; ; batch = Math.min(2 * batch, mostBatch)) {
    const slots = firstOf(all, limit + 1);
    // Slots that are not known yet matter up to here.
    const end = slots.length > limit ? (slots.at(-1) as Slot).at : time.to;
    const open = all.filter(({ until }) => until < end);
    const isCut = open.length > 0 && searches + open.length > mostSearches;
    if (open.length === 0 || isCut) return { slots: slots.slice(0, limit), truncated: isCut || slots.length > limit };
    for (const known of open) {
      search(known, time, batch);
      searches += 1;
      if (searches % searchedAtOnce === 0) await nextTurn();
    }
  }
}

function storedOf(row: TimedRow, { after, to }: Time): Known {
  const stored = row.slots.map((slot) => Date.parse(slot));
  const slots = stored.filter((slot) => slot > after && slot < to);
  return { row, slots, until: Math.max(stored.at(-1) ?? after, after) };
}

/** Adds the next slots to what is known. */
function search(known: Known, { to }: Time, batch: number): void {
  const { row, until } = known;
  const times = { after: until, until: to - 1, anchor: Date.parse(row.anchor_at) };
  const found = nextSlots({ ...row, enabled: true }, times, batch).map((slot) => Date.parse(slot));
  known.slots.push(...found);
  known.until = found.length < batch ? to : (found.at(-1) as number);
}

function firstOf(all: readonly Known[], limit: number): Slot[] {
  const slots = all.flatMap(({ row, slots: own }) => own.slice(0, limit).map((at) => ({ row, at })));
  return slots.sort((a, b) => a.at - b.at || (a.row.id < b.row.id ? -1 : 1)).slice(0, limit);
}
