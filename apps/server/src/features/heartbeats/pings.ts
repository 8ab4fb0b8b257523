import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { listPings, type PingRow } from './heartbeats.sql.ts';

export const pings = operation(contract.heartbeats.pings, async ({ db, actor }, { params, query }) => {
  const rows = await listPings(db, actor.accountId, params.id, query.limit);
  if (!rows) throw notFound('heartbeat');
  return { pings: rows.map(viewPing) };
});

/** A ping as it is answered. */
export function viewPing({ kind, at, exit_code, rid, body, count }: PingRow) {
  return {
    kind,
    at,
    ...(exit_code !== null && { exit_code }),
    ...(rid !== null && { rid }),
    ...(body !== null && { body: body.toString() }),
    count,
  };
}
