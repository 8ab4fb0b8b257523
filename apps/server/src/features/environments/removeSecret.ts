import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { noteChangesGone } from '../../kernel/records/app-changes.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import type { Environments } from './environments.store.ts';
import { deleteSecret } from './secrets/secrets.sql.ts';

export const removeSecret = (environments: Environments): Operation =>
  operation(contract.environments.removeSecret, (context, { params: { id, name } }) =>
    context.transaction(async (tx) => {
      const row = await holdThere(tx, { accountId: context.actor.accountId, id, least: 'maintainer' });
      if (!(await deleteSecret(tx, id, name))) throw notFound('secret');
      await noteChangesGone(tx, ['environment_secret'], `${id}/${name}`);
      await environments.tell(tx, row, doerOf(context), { kind: 'secret_removed', payload: { name } });
      return { deleted: true as const, name };
    }),
  );
