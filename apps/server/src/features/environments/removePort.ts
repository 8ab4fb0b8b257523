import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { noteGone } from '../../kernel/records/let-in.ts';
import { noteChange } from '../../kernel/records/app-changes.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import type { Environments } from './environments.store.ts';
import { deletePort } from './people/ports.sql.ts';

export const removePort = (environments: Environments): Operation =>
  operation(contract.environments.removePort, (context, { params: { id, port } }) =>
    context.transaction(async (tx) => {
      const row = await holdThere(tx, { accountId: context.actor.accountId, id, least: 'developer' });
      const gone = await deletePort(tx, id, port);
      if (!gone) throw notFound('published port');
      await noteGone(tx, ['port'], `${id}/${port}`);
      const change = { kind: 'port_removed', subject: `${id}/${port}`, name: `${row.slug}: ${port}` } as const;
      if (gone.opened_by !== context.actor.accountId) await noteChange(tx, context.actor, change);
      const payload = { port, visibility: gone.visibility };
      await environments.tell(tx, row, doerOf(context), { kind: 'port_removed', payload });
      return { deleted: true as const, port };
    }),
  );
