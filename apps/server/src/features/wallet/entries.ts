import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { listEntries } from './wallet.sql.ts';

export const entries = operation(contract.wallet.entries, async ({ db, actor }, { query: { limit, cursor } }) => {
  const rows = await listEntries(db, actor.accountId, { before: cursor, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { entries: page, ...(last && { next_cursor: last.id }) };
});
