import { contract } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import type { Context } from '../../kernel/http/context.ts';
import { noteGone } from '../../kernel/records/let-in.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkRole, holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import { passOn } from './environments.sql.ts';
import type { Environments } from './environments.store.ts';
import { declineInvitation, dropSent, withdrawInvitation } from './people/invitations.sql.ts';
import { deleteMember } from './people/members.sql.ts';
import { checkOwners, checkOwnerStays, memberOf } from './people/members.ts';

export const removeMember = (environments: Environments): Operation =>
  operation(contract.environments.removeMember, async (context, { params: { id, userId } }) => {
    await context.transaction(async (tx) => {
      const isMe = userId === context.actor.accountId;
      // Whoever is invited sees nothing of the environment, and the environment nothing of their no.
      if (isMe && (await declineInvitation(tx, context.clock, id, userId)))
        return noteGone(tx, ['member', 'role'], `${id}/${userId}`);
      await takeOut(tx, environments, context, { id, userId });
    });
    return { deleted: true as const, user_id: userId };
  });

/** Ends the membership, or the invitation, of somebody. */
async function takeOut(
  tx: Db,
  environments: Environments,
  context: Context,
  { id, userId }: { id: string; userId: string },
): Promise<void> {
  const { accountId } = context.actor;
  const row = await holdThere(tx, { accountId, id, least: 'viewer' });
  // Whoever leaves needs no role for it.
  if (userId !== accountId) checkRole(row.role, 'maintainer', 'to take a member out');
  const { member, owners } = await memberOf(tx, id, userId);
  checkOwners(row.role, member.role);
  const payload = { user_id: userId, role: member.role };
  await noteGone(tx, ['member', 'role', 'ssh_key'], `${id}/${userId}`);
  if (member.accepted_at === null) {
    await withdrawInvitation(tx, context.clock, id, userId);
    return environments.tell(tx, row, doerOf(context), { kind: 'invitation_withdrawn', payload });
  }
  checkOwnerStays({ member, owners });
  await deleteMember(tx, id, userId);
  await dropSent(tx, userId, id);
  // Whoever leaves by themselves leaves it to the others as it is.
  if (userId === accountId) await noteGone(tx, ['member', 'role', 'port'], `${id}/`, accountId);
  if (userId === row.account_id) await passOn(tx, userId, id);
  await environments.tell(tx, row, doerOf(context), { kind: 'member_removed', payload });
}
