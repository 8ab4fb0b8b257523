import { contract, type RouteParsed } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { type MonitorRow, stateOf } from './heartbeats.sql.ts';
import { toRecord } from './heartbeats.view.ts';
import { daysOf } from './history/days.ts';
import { readSorted, sortedCursor } from './lists/cursor.ts';
import { listMonitors, listSorted } from './lists/lists.sql.ts';

/** Monitors of a page whose days are told: each may have changed its status 1,000 times. */
const mostWithDays = 200;

type Query = RouteParsed<typeof contract.heartbeats.list>['query'];

export const list = operation(contract.heartbeats.list, async (context, { query }) => {
  const limit = query.days === undefined ? query.limit : Math.min(query.limit, mostWithDays);
  const { rows, next } = await pageOfMonitors(context, { ...query, limit });
  const days = query.days === undefined ? undefined : await daysOf(context.db, rows, query.days);
  return { heartbeats: rows.map((row) => toRecord(row, stateOf(row), days?.get(row.id))), ...next };
});

async function pageOfMonitors(
  { db, clock, actor }: Context,
  query: Query,
): Promise<{ rows: MonitorRow[]; next: { next_cursor?: string } }> {
  const { sort, limit, cursor } = query;
  if (sort === undefined) return pageOf(await listMonitors(db, clock, actor.accountId, query), limit);
  const after = cursor === undefined ? undefined : readSorted(sort, cursor);
  const found = await listSorted(db, clock, actor.accountId, { ...query, sort, after });
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, next: last ? { next_cursor: sortedCursor(sort, after?.at ?? last.now, last) } : {} };
}
