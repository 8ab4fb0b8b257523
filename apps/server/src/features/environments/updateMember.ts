import { contract } from '@svc/contract';
import { appOf, noteLetIn } from '../../kernel/records/let-in.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { holdThere, isAtLeast } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import { tellAsked, tellInvited } from './people/notify.ts';
import type { Environments } from './environments.store.ts';
import { toChangedMember } from './environments.view.ts';
import { changeInvitedRole, dropSent, isWaiting } from './people/invitations.sql.ts';
import { noteChanged } from './people/lost.ts';
import { closePortsOf } from './people/ports.ts';
import { passOnTold } from './people/pass-on.ts';
import { changeRole } from './people/members.sql.ts';
import { checkGift, checkOwners, checkOwnerStays, checkProjectOwner, memberOf } from './people/members.ts';

export const updateMember = (environments: Environments): Operation =>
  operation(contract.environments.updateMember, async (context, { params: { id, userId }, body: { role } }) => {
    checkGift(context.actor, role);
    return context.transaction(async (tx) => {
      const row = await holdThere(tx, { accountId: context.actor.accountId, id, least: 'maintainer' });
      const { member, owners } = await memberOf(tx, context.clock, id, userId);
      checkOwners(row.role, role, member.role);
      const { actor } = context;
      if (role !== 'owner') {
        await checkProjectOwner(tx, row, member, actor.accountId);
        checkOwnerStays({ member, owners });
      }
      const isLess = !isAtLeast(role, member.role);
      // Whoever is raised to an owner has the rights at once; that it may become theirs they accept first.
      const isRaised = role === 'owner' && member.role !== 'owner';
      const isUnasked = isRaised || (role === 'owner' && member.is_unasked);
      if (member.accepted_at === null) await changeInvitedRole(tx, id, userId, role, actor.accountId);
      else await changeRole(tx, id, userId, role, isUnasked);
      if (!isLess || appOf(actor) === undefined) {
        const subject = `${id}/${userId}`;
        await noteLetIn(tx, actor, { kind: 'role', subject, name: member.email, before: member.role });
      }
      if (member.accepted_at !== null) await noteChanged(tx, actor, member, isLess);
      // Nobody comes in by the word of somebody who could not give it now.
      if (isLess) await dropSent(tx, userId, id);
      if (userId === row.account_id && role !== 'owner') await passOnTold(context.kernel, tx, userId, row);
      if (isLess) await closePortsOf(tx, environments, row, { accountId: userId, role, doer: doerOf(context) });
      const payload = { user_id: userId, from: member.role, to: role };
      await environments.tell(tx, row, doerOf(context), { kind: 'member_changed', payload });
      const given = { accountId: userId, by: actor.accountId, at: (await readNow(tx, context.clock)).iso };
      if (member.accepted_at === null) {
        // Who accepts has been told of what.
        const isMore = !isLess && role !== member.role;
        if (isMore && (await isWaiting(tx, id, userId)))
          await tellInvited(context.kernel, tx, { ...given, role, raisedIn: id });
        return { member: toChangedMember({ ...member, role }) };
      }
      if (isRaised) await tellAsked(context.kernel, tx, row, given);
      return { member: toChangedMember({ ...member, role, is_unasked: isUnasked }) };
    });
  });
