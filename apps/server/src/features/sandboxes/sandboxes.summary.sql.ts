import { namedStatement } from '../../kernel/db/named.ts';
import { listText } from '../../kernel/machine.ts';
import { sandboxStates, type State } from './sandboxes.states.ts';
import { statement } from '../../kernel/db/statement.ts';

/** Live sandboxes of an account, by state. */
export const countLive = statement<{ state: State; n: number }>(`
  select state, count(*)::int as n from sandboxes.sandboxes
  where account_id = $1 and state in ${listText(sandboxStates.where('live'))} group by state`);

/** Live sandboxes by a part of the name in their metadata. */
export const findSandboxes = namedStatement('sandboxes.sandboxes', "metadata->>'name'", {
  condition: `state in ${listText(sandboxStates.where('live'))}`,
});
