import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { listActs } from './audit.sql.ts';
import { namesOf, toRecord } from './audit.view.ts';

/** Lines are never changed, so a page is what it was: the id of its last line is where the next one begins. */
export const list = operation(contract.audit.list, async ({ db, actor }, { query }) => {
  const { limit, cursor, ...wanted } = query;
  const rows = await listActs(db, { ...wanted, accountId: actor.accountId, before: cursor, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const names = await namesOf(db, page);
  const last = page.at(-1);
  return {
    acts: page.map((row) => toRecord(row, names)),
    ...(rows.length > limit && last && { next_cursor: String(last.id) }),
  };
});
