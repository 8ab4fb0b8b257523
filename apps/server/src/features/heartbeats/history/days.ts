import type { Db } from '../../../kernel/db/db.ts';
import { expectedOf, type ShownStatus, shownStatus } from '../heartbeats.rules.ts';
import { type MonitorRow, stateOf } from '../heartbeats.sql.ts';
import { type FlipDay, listFlipDays } from './flips.sql.ts';

const dayMs = 86_400_000;
/** The worst first; a day of several has the letter of its worst. */
const letters: readonly [ShownStatus, string][] = [
  ['down', 'd'],
  ['late', 'l'],
  ['up', 'u'],
  ['new', 'n'],
  ['paused', 'p'],
];
const unknown = 'n';

/** How each of these monitors was in the last days, by its id: a letter a day in UTC, today last. */
export async function daysOf(db: Db, rows: readonly MonitorRow[], days: number): Promise<Map<string, string>> {
  const [any] = rows;
  if (!any) return new Map();
  const today = Math.floor(Date.parse(any.now) / dayMs);
  const first = today - days + 1;
  const since = new Date(first * dayMs).toISOString();
  const flips = await listFlipDays(
    db,
    rows.map(({ id }) => id),
    since,
  );
  const byMonitor = Map.groupBy(flips, (flip) => flip.monitor_id);
  return new Map(rows.map((row) => [row.id, daysOfOne(row, byMonitor.get(row.id) ?? [], first, today)]));
}

function daysOfOne(row: MonitorRow, flips: readonly FlipDay[], first: number, today: number): string {
  const state = stateOf(row);
  const byDay = new Map(flips.map((flip) => [flip.day, flip]));
  // Late until now: its begin is not written yet.
  const lateFrom =
    shownStatus(state, Date.parse(row.now)) === 'late' ? Math.floor(expectedOf(state) / dayMs) : Infinity;
  const knownFrom = Math.floor(Date.parse(row.known_since) / dayMs);
  let now: ShownStatus = flips[0]?.first ?? state.status;
  let text = '';
  for (let day = first; day <= today; day++) {
    const flip = byDay.get(new Date(day * dayMs).toISOString().slice(0, 10));
    const had = new Set([now, ...(flip?.became ?? []), ...(day >= lateFrom ? (['late'] as const) : [])]);
    text += day < knownFrom ? unknown : (letters.find(([status]) => had.has(status))?.[1] ?? unknown);
    now = flip?.last ?? now;
  }
  return text;
}
