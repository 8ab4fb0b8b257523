import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { viewPause } from './list.ts';
import { findPause } from './schedules.account.sql.ts';
import { mergeSlots } from './calendar/merge.ts';
import { listDueBefore } from './calendar/calendar.sql.ts';

const dayMs = 86_400_000;
const longestMs = 7 * dayMs;
/** Schedules that one answer looks at: of those that are due first the first slots are among as many of them. */
const mostSchedules = 501;

export const upcoming = operation(contract.schedules.upcoming, async ({ db, clock, actor }, { query }) => {
  const now = await readNow(db, clock);
  const from = query.from === undefined ? now.ms : Date.parse(query.from);
  const to = query.to === undefined ? from + dayMs : Date.parse(query.to);
  if (to <= from || to - from > longestMs) {
    const message = 'must lie after from, and at most 7 days after it';
    throw badRequest(`to: ${message}`, { to: [message] });
  }
  const pause = await findPause(db, actor.accountId);
  // What falls into a pause makes no run. Without an end everything does.
  const wakesAt = viewPause(pause, now).paused ? Date.parse(pause?.until ?? '') : 0;
  if (Number.isNaN(wakesAt)) return { upcoming: [], truncated: false };
  const after = Math.max(from - 1, now.ms, wakesAt - 1);
  if (after >= to - 1) return { upcoming: [], truncated: false };
  const rows = await listDueBefore(db, actor.accountId, new Date(to).toISOString(), mostSchedules);
  const { slots, truncated } = await mergeSlots(rows, { after, to }, query.limit);
  // Those that are due later may still be the first of a time that begins later.
  const isCut = rows.length === mostSchedules && (after > now.ms || slots.length < query.limit);
  return {
    upcoming: slots.map(({ row, at }) => ({ schedule_id: row.id, name: row.name, at: new Date(at).toISOString() })),
    truncated: truncated || isCut,
  };
});
