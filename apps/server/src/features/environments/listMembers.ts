import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { enter } from './environments.access.ts';
import { toMember } from './environments.view.ts';
import { membersOf } from './people/members.sql.ts';

export const listMembers = operation(contract.environments.listMembers, async (context, { params: { id } }) => {
  await enter(context.db, { accountId: context.actor.accountId, id, least: 'viewer' });
  return { members: (await membersOf(context.db, id)).map(toMember) };
});
