import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { findAccountByEmail, hasUnprovedAddress } from '../accounts/index.ts';
import { holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import { tellInvited, tellMember } from './people/notify.ts';
import { noteLetIn } from '../../kernel/records/let-in.ts';
import { rateLimitExceeded } from '../../kernel/share/limits.ts';
import type { Environments } from './environments.store.ts';
import { toChangedMember } from './environments.view.ts';
import { trimInvitations } from './people/invitations.sql.ts';
import { noteNew } from './people/lost.ts';
import { checkGift, checkOwners, checkPlace, invite, memberOf } from './people/members.ts';

/** An answer tells whether an address has an account (document 3, Errors): nobody tries lists of them. */
const tries = { name: 'member_adds', perMinute: 20 };

export const addMember = (environments: Environments): Operation =>
  operation(contract.environments.addMember, async (context, { params: { id }, body }) => {
    checkGift(context.actor, body.role);
    const { accountId } = context.actor;
    const state = await context.kernel.limiter.take(tries, accountId);
    if (!state.allowed) throw rateLimitExceeded(tries.name, state);
    return context.transaction(async (tx) => {
      const row = await holdThere(tx, { accountId, id, least: 'maintainer' });
      const email = body.email.trim();
      checkOwners(row.role, body.role);
      if (row.isolation === 'vm_per_dev')
        throw new ApiError('vm_per_dev_single_member', 'in this project each developer has an environment alone');
      // Before the address is looked up: an environment that is full tells nothing of it.
      await checkPlace(tx, context.clock, id, email);
      const account = await findAccountByEmail(tx, email);
      // An address that an account gave to itself may be another person's: nobody comes in by it.
      if (!account || (await hasUnprovedAddress(tx, account.id)))
        throw new ApiError('not_found', 'no account here has this e-mail address');
      const person = { accountId: account.id, email: account.email, role: body.role };
      const { iso: at } = await readNow(tx, context.clock);
      const became = await invite(tx, context.clock, row, { ...person, by: accountId });
      const subject = `${id}/${account.id}`;
      await noteNew(tx, context.actor, id, account.id);
      await noteLetIn(tx, context.actor, { kind: 'member', subject, name: account.email });
      const { member } = await memberOf(tx, context.clock, id, account.id);
      const payload = { user_id: account.id, role: body.role, linux_username: member.linux_username };
      const kind = became === 'joined' ? 'member_added' : 'member_invited';
      await environments.tell(tx, row, doerOf(context), { kind, payload });
      const told = { accountId: account.id, role: body.role, at, by: accountId };
      if (became === 'joined') await tellMember(context.kernel, tx, row, told);
      if (became === 'invited') {
        await trimInvitations(tx, account.id);
        await tellInvited(context.kernel, tx, told);
      }
      return { member: toChangedMember(member) };
    });
  });
