import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { enter } from './environments.access.ts';
import { toMember } from './environments.view.ts';
import { peopleOf } from './people/members.ts';

export const listMembers = operation(contract.environments.listMembers, async (context, { params: { id } }) => {
  await enter(context.db, { accountId: context.actor.accountId, id, least: 'viewer' });
  return { members: (await peopleOf(context.db, context.clock, id)).map(toMember) };
});
