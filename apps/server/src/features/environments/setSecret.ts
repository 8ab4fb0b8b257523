import { contract } from '@svc/contract';
import { readNow } from '../../kernel/db/instant.ts';
import { noteChange } from '../../kernel/records/app-changes.ts';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import { holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import type { Environments } from './environments.store.ts';
import { checkRoom, sealSecret } from './secrets/seal.ts';
import { putSecret, versionOf } from './secrets/secrets.sql.ts';

export const setSecret = (environments: Environments): Operation =>
  operation(contract.environments.setSecret, (context, { params: { id, name }, body }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await holdThere(tx, { accountId, id, least: 'maintainer' });
      const before = await versionOf(tx, id, name);
      if (before === undefined) await checkRoom(tx, id);
      const place = { environmentId: id, name, version: (before ?? 0) + 1 };
      const { iso } = await readNow(tx, context.clock);
      await putSecret(tx, iso, { ...place, accountId }, sealSecret(context.kernel, place, body.value));
      const change = { kind: 'environment_secret', subject: `${id}/${name}`, name: `${row.slug}: ${name}` } as const;
      await noteChange(tx, context.actor, change);
      const updated = before !== undefined;
      await environments.tell(tx, row, doerOf(context), { kind: 'secret_set', payload: { name, updated } });
      return updated ? new Answer({ name, updated }, { status: 200 }) : { name, updated };
    }),
  );
