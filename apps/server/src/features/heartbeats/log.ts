import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findMonitor } from './heartbeats.sql.ts';
import { viewPing } from './pings.ts';
import { logCursor, readLogCursor } from './lists/cursor.ts';
import { listLog, type MonitorLogRow } from './lists/lists.sql.ts';

export const log = operation(contract.heartbeats.log, async ({ db, clock, actor }, { params, query }) => {
  if (!(await findMonitor(db, clock, actor.accountId, params.id))) throw notFound('heartbeat');
  const { limit, cursor } = query;
  const found = await listLog(db, params.id, {
    limit,
    after: cursor === undefined ? undefined : readLogCursor(cursor),
  });
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { log: rows.map(view), ...(last && { next_cursor: logCursor(last) }) };
});

function view({ at, kind, count, was, became, ...row }: MonitorLogRow) {
  if (kind !== null) return { at, kind: 'ping' as const, ping: viewPing({ ...row, at, kind, count: count ?? 1 }) };
  return { at, kind: 'flip' as const, ...(was !== null && { from: was }), ...(became !== null && { to: became }) };
}
