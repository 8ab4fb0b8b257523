import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { pageOf } from '../../kernel/db/paging.ts';
import { listPrompts, type PromptFilter } from './prompts.sql.ts';
import { type PromptState, promptStates } from './prompts.states.ts';
import { toPrompt } from './prompts.view.ts';

export const list = operation(contract.prompts.list, async ({ db, clock, actor }, { query }) => {
  const found = await listPrompts(db, clock, actor.accountId, query, filterOf(query.status));
  const { rows, next } = pageOf(found, query.limit, found.length > query.limit || found[0]?.is_cut === true);
  return { prompts: rows.map(toPrompt), ...next };
});

/** The filter for the `status` of a list (document 1, Endpoints). */
function filterOf(status: PromptState | 'active' | 'due' | 'all'): PromptFilter {
  if (status === 'all') return {};
  if (status === 'active') return { states: promptStates.where('active') };
  if (status === 'due') return { states: ['open'], due: true };
  return { states: [status] };
}
