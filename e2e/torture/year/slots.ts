import type { Timetable } from './timetables.ts';

const second = 1_000;
const minute = 60 * second;

/** A schedule of the household, and what the model knows of it. */
export interface Kept {
  readonly id: string;
  readonly name: string;
  readonly timetable: Timetable;
  readonly misfire: 'once' | 'skip' | 'all_within';
  readonly overlap: 'skip' | 'kill';
  readonly made: number;
  readonly asks: boolean;
  readonly isLate: boolean;
}

/** A run as it stands in the database. */
export interface Row {
  id: string;
  schedule_id: string;
  scheduled_for: string;
  origin: string;
  state: string;
  error: string | null;
  created_at: string;
  finished_at: string | null;
}

/** A span in which no slot becomes a run by itself. */
export interface Away {
  readonly why: 'paused' | 'down';
  readonly from: number;
  readonly to: number;
}

/** How close to an edge of a span a slot may be either. */
const edgeMs = 20 * second;
/** A slot later than this is a misfire. */
const misfireMs = minute;

/** Slots later than this are given up by `all_within`. An outage is up to 31 hours. */
const windowMs = 1_440 * minute;

const withinWindow = (late: number): string[] =>
  Math.abs(late - windowMs) < edgeMs ? ['catch_up', 'none'] : [late < windowMs ? 'catch_up' : 'none'];

/** What may come of a slot. */
export function outcomesOf({ misfire }: Kept, slot: number, slots: readonly number[], away: readonly Away[]): string[] {
  const near = away.filter(({ from, to }) => slot > from - edgeMs && slot < to + edgeMs);
  const sure = near.filter(({ from, to }) => slot > from + edgeMs && slot < to - edgeMs);
  if (near.length === 0) return ['slot'];
  if (sure.length === 0) return ['slot', 'catch_up', 'none'];
  if (sure.some(({ why }) => why === 'paused')) return near.length > 1 ? ['none', 'catch_up'] : ['none'];
  const { to, from } = sure[0] as Away;
  const late = to - slot;
  if (Math.abs(late - misfireMs) < edgeMs) return ['slot', 'catch_up', 'none'];
  if (late < misfireMs) return ['slot'];
  if (misfire === 'skip') return ['none'];
  if (misfire === 'all_within') return withinWindow(late);
  const others = slots.filter((one) => one > slot && one > from && one <= to + edgeMs);
  const isSure = others.every((one) => one < to - edgeMs);
  return others.length === 0 ? ['catch_up'] : isSure ? ['none'] : ['none', 'catch_up'];
}

/** It was skipped because another run was under way. */
export const isOverlap = ({ state, error }: Row): boolean => state === 'skipped' && (error ?? '').startsWith('overlap');

/** A run is skipped when one of its schedule is under way, and else it is not. */
export function overlapsOf({ name, overlap }: Kept, rows: readonly Row[], after: number): string[] {
  const found: string[] = [];
  for (const row of rows) {
    const at = Date.parse(row.created_at);
    if (at <= after) continue;
    const others = rows.filter((one) => one !== row && !isOverlap(one) && Date.parse(one.created_at) <= at);
    const isSkipped = isOverlap(row);
    const ends = others.map((one) => (one.finished_at === null ? Infinity : Date.parse(one.finished_at)));
    const unskipped = row.origin === 'slot' && !isSkipped;
    if (isSkipped && !ends.some((end) => end >= at))
      found.push(`${name} at ${row.scheduled_for}: is skipped for no run`);
    if (overlap === 'skip' && unskipped && ends.some((end) => end > at))
      found.push(`${name} at ${row.scheduled_for}: runs beside another one`);
  }
  return found;
}
