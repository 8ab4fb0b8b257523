import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { findAccountByEmail } from '../accounts/index.ts';
import { holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import { tellMember } from './environments.notify.ts';
import type { Environments } from './environments.store.ts';
import { toChangedMember } from './environments.view.ts';
import { checkOwners, join, memberOf } from './people/members.ts';

export const addMember = (environments: Environments): Operation =>
  operation(contract.environments.addMember, (context, { params: { id }, body }) =>
    context.transaction(async (tx) => {
      const row = await holdThere(tx, { accountId: context.actor.accountId, id, least: 'maintainer' });
      checkOwners(row.role, body.role);
      if (row.isolation === 'vm_per_dev')
        throw new ApiError('vm_per_dev_single_member', 'in this project each developer has an environment alone');
      const account = await findAccountByEmail(tx, body.email.trim());
      if (!account) throw new ApiError('not_found', 'no account here has this e-mail address');
      const person = { accountId: account.id, email: account.email, role: body.role };
      const { iso: at } = await readNow(tx, context.clock);
      await join(tx, at, row, person);
      const { member } = await memberOf(tx, id, account.id);
      const payload = { user_id: account.id, role: body.role, linux_username: member.linux_username };
      await environments.tell(tx, row, doerOf(context), { kind: 'member_added', payload });
      await tellMember(context.kernel, tx, row, { accountId: account.id, role: body.role, at });
      return { member: toChangedMember(member) };
    }),
  );
