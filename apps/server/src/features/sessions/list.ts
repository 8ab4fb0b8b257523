import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { pageOf } from '../../kernel/db/paging.ts';
import { listSessions } from './sessions.sql.ts';
import { toSession } from './sessions.view.ts';

export const list = operation(contract.sessions.list, async ({ db, clock, actor }, { query }) => {
  const { rows, next } = pageOf(await listSessions(db, clock, actor.accountId, query), query.limit);
  return { sessions: rows.map(toSession), ...next };
});
