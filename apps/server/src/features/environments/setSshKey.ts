import { contract } from '@svc/contract';
import { noteLetIn } from '../../kernel/records/let-in.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import type { Environments } from './environments.store.ts';
import { keepSshKey } from './people/members.sql.ts';
import { sshKeyOf } from './people/ssh.ts';

export const setSshKey = (environments: Environments): Operation =>
  operation(contract.environments.setSshKey, (context, { params: { id }, body }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await holdThere(tx, { accountId, id, least: 'developer' });
      const key = sshKeyOf(body.public_key);
      await keepSshKey(tx, id, accountId, key);
      await noteLetIn(tx, context.actor, { kind: 'ssh_key', subject: `${id}/${accountId}`, name: row.name });
      const payload = { user_id: accountId, type: key.split(' ', 1).join('') };
      await environments.tell(tx, row, doerOf(context), { kind: 'ssh_key_set', payload });
      return { user_id: accountId, ssh_public_key: true as const };
    }),
  );
