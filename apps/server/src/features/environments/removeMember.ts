import { contract } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import { readNow } from '../../kernel/db/instant.ts';
import type { Context } from '../../kernel/http/context.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkRole, holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import { resolveInvited, tellRemoved } from './people/notify.ts';
import { lockEnvironment } from './environments.sql.ts';
import type { Environments } from './environments.store.ts';
import { declineInvitation, dropSent, withdrawInvitation } from './people/invitations.sql.ts';
import { noteOut } from './people/lost.ts';
import { closePortsOf } from './people/ports.ts';
import { passOnTold } from './people/pass-on.ts';
import { deleteMember, memberIds, noteRemoved } from './people/members.sql.ts';
import { checkOwners, checkOwnerStays, checkProjectOwner, memberOf } from './people/members.ts';

export const removeMember = (environments: Environments): Operation =>
  operation(contract.environments.removeMember, async (context, { params: { id, userId } }) => {
    await context.transaction(async (tx) => {
      if (userId === context.actor.accountId) {
        // First, as everybody who changes something in it.
        await lockEnvironment(tx, id);
        const declined = await declineInvitation(tx, context.clock, id, userId);
        if (declined)
          await resolveInvited(context.kernel, tx, {
            accountId: userId,
            by: declined.invited_by,
            resolution: 'declined',
          });
        // Whoever is invited sees nothing of the environment, and the environment nothing of their no: not by its apps either.
        if (declined && !(await memberIds(tx, id)).includes(userId)) return;
      }
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
  const { member, owners } = await memberOf(tx, context.clock, id, userId);
  checkOwners(row.role, member.role);
  await checkProjectOwner(tx, row, member, accountId);
  const payload = { user_id: userId, role: member.role };
  await noteOut(tx, context.actor, member);
  if (member.accepted_at === null) {
    const withdrawn = await withdrawInvitation(tx, context.clock, id, userId);
    const by = withdrawn?.invited_by ?? null;
    await resolveInvited(context.kernel, tx, { accountId: userId, by, resolution: 'removed' });
    return environments.tell(tx, row, doerOf(context), { kind: 'invitation_withdrawn', payload });
  }
  checkOwnerStays({ member, owners });
  await deleteMember(tx, id, userId);
  if (userId !== accountId) {
    const { iso: at } = await readNow(tx, context.clock);
    await noteRemoved(tx, at, id, userId);
    await tellRemoved(context.kernel, tx, row, { accountId: userId, by: accountId, at });
  }
  // A release that knew of no invitations may have made a member of somebody who is invited.
  await withdrawInvitation(tx, context.clock, id, userId);
  await dropSent(tx, userId, id);
  if (userId === row.account_id) await passOnTold(context.kernel, tx, userId, row);
  await closePortsOf(tx, environments, row, { accountId: userId, role: null, doer: doerOf(context) });
  await environments.tell(tx, row, doerOf(context), { kind: 'member_removed', payload });
}
