import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { pageOf } from '../../kernel/db/paging.ts';
import { listPrompts } from './prompts.sql.ts';
import { filterOf } from './prompts.states.ts';
import { toPrompt } from './prompts.view.ts';

export const list = operation(contract.prompts.list, async ({ db, clock, actor }, { query }) => {
  const found = await listPrompts(db, clock, actor.accountId, query, filterOf(query.status));
  const { rows, next } = pageOf(found, query.limit, found.length > query.limit || found[0]?.is_cut === true);
  return { prompts: rows.map(toPrompt), ...next };
});
