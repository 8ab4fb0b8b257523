import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { appOf } from '../../kernel/records/let-in.ts';
import { findEmail } from '../accounts/index.ts';
import type { EnvironmentRole } from './environments.rows.ts';
import { doerOf } from './environments.doer.ts';
import { resolveInvited } from './people/notify.ts';
import { lockEnvironment } from './environments.sql.ts';
import { environmentStatesTable } from './environments.states.ts';
import type { Environments } from './environments.store.ts';
import { toChangedMember } from './environments.view.ts';
import { isInGoodStanding, takeInvitation } from './people/invitations.sql.ts';
import { join, mayGive, memberOf } from './people/members.ts';
import { changeRole, membersOf } from './people/members.sql.ts';

export const acceptInvitation = (environments: Environments): Operation =>
  operation(contract.environments.acceptInvitation, (context, { params: { id }, body }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await lockEnvironment(tx, id);
      if (!row || environmentStatesTable.isFinal(row.state)) throw notFound('invitation');
      // In any case: a release that knows of no invitations may have made the person a member meanwhile.
      const invited = await takeInvitation(tx, id, accountId);
      checkShown(body.role, invited?.role);
      const from = invited?.invited_by ?? null;
      await resolveInvited(context.kernel, tx, { accountId, by: from, resolution: 'accepted' });
      const members = await membersOf(tx, id);
      const before = members.find(({ account_id: of }) => of === accountId);
      // An app agrees to no costs, and who accepts to be a developer has agreed to none.
      const isTheirWord = appOf(context.actor) === undefined;
      if (before?.is_unasked && isTheirWord && (!invited || invited.role === 'owner')) {
        await changeRole(tx, id, accountId, before.role);
        const payload = { user_id: accountId };
        await environments.tell(tx, row, doerOf(context), { kind: 'owner_accepted', payload });
      }
      if (before) return { member: toChangedMember((await memberOf(tx, context.clock, id, accountId)).member) };
      if (!invited) throw notFound('invitation');
      const { role, invited_by: by, ...wanted } = invited;
      const inviter = members.find(({ account_id: of }) => of === by);
      const mayStill = inviter && mayGive(inviter.role, role) && (await isInGoodStanding(tx, inviter.account_id));
      if (!mayStill) throw notFound('invitation');
      const person = { accountId, email: (await findEmail(tx, accountId)) ?? '', role, isUnasked: !isTheirWord };
      await join(tx, context.clock, row, person, wanted);
      const { member } = await memberOf(tx, context.clock, id, accountId);
      const payload = { user_id: accountId, role, linux_username: member.linux_username };
      await environments.tell(tx, row, doerOf(context), { kind: 'member_added', payload });
      return { member: toChangedMember(member) };
    }),
  );

/** Throws 409 where somebody was shown another role than the one that waits: they agree to what they saw. */
function checkShown(shown: EnvironmentRole | undefined, waits: EnvironmentRole | undefined): void {
  if (shown === undefined || waits === undefined || shown === waits) return;
  throw new ApiError('invitation_changed', `this invitation is for the role ${waits} by now; look at it again`);
}
