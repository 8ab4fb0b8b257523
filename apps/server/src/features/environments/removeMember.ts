import { contract } from '@svc/contract';
import { noteGone } from '../../kernel/records/let-in.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkRole, holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import { passOn } from './environments.sql.ts';
import type { Environments } from './environments.store.ts';
import { deleteMember } from './people/members.sql.ts';
import { checkOwners, checkOwnerStays, memberOf } from './people/members.ts';

export const removeMember = (environments: Environments): Operation =>
  operation(contract.environments.removeMember, (context, { params: { id, userId } }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await holdThere(tx, { accountId, id, least: 'viewer' });
      // Whoever leaves needs no role for it.
      if (userId !== accountId) checkRole(row.role, 'maintainer', 'to take a member out');
      const { member, owners } = await memberOf(tx, id, userId);
      checkOwners(row.role, member.role);
      checkOwnerStays({ member, owners });
      await deleteMember(tx, id, userId);
      await noteGone(tx, ['member', 'role', 'ssh_key'], `${id}/${userId}`);
      // Whoever leaves by themselves leaves it to the others as it is.
      if (userId === accountId) await noteGone(tx, ['member', 'role', 'port'], `${id}/`, accountId);
      if (userId === row.account_id) await passOn(tx, userId, id);
      const payload = { user_id: userId, role: member.role };
      await environments.tell(tx, row, doerOf(context), { kind: 'member_removed', payload });
      return { deleted: true as const, user_id: userId };
    }),
  );
