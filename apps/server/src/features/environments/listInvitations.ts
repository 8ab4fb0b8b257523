import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { toInvitation } from './environments.view.ts';
import { waitingOf } from './people/invitations.sql.ts';

export const listInvitations = operation(contract.environments.listInvitations, async (context) => ({
  invitations: (await waitingOf(context.db, context.actor.accountId)).map(toInvitation),
}));
