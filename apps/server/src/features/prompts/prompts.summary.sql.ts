import { namedStatement } from '../../kernel/db/named.ts';
import { listText } from '../../kernel/machine.ts';
import { promptStates } from './prompts.states.ts';
import { statement } from '../../kernel/db/statement.ts';

/** Open prompts whose time has come, the newest first. */
export const listDue = statement<{ id: string; title: string; since: string }>(`
  select id, left(prompt, 120) as title, not_before as since from prompts.prompts
  where account_id = $1 and state = 'open' and not_before <= $2::timestamptz order by not_before desc limit $3`);

/** How many there are. */
export const countDue = statement<{ n: number }>(`
  select count(*)::int as n from prompts.prompts
  where account_id = $1 and state = 'open' and not_before <= $2::timestamptz`);

/** Prompts that are not closed by a part of their text's beginning. */
export const findPrompts = namedStatement('prompts.prompts', 'left(prompt, 200)', {
  condition: `state in ${listText(promptStates.where('unclosed'))}`,
});
