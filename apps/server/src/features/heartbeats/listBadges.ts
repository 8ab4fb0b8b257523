import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listAllBadges } from './heartbeats.keys.sql.ts';

export const listBadges = operation(contract.heartbeats.listBadges, async ({ db, actor }, { query }) => {
  const { rows, next } = pageOf(await listAllBadges(db, actor.accountId, query), query.limit);
  return {
    badges: rows.map(({ monitor_id, created_at }) => ({
      ...(monitor_id !== null && { heartbeat_id: monitor_id }),
      created_at,
    })),
    ...next,
  };
});
