import { contract } from '@svc/contract';
import { noteChange } from '../../kernel/records/app-changes.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import type { EnvironmentChange } from './environments.rows.ts';
import type { Environments } from './environments.store.ts';
import { toEnvironment } from './environments.view.ts';

const defaultIdleMinutes = 30;

export const update = (environments: Environments): Operation =>
  operation(contract.environments.update, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await holdThere(tx, { accountId, id: params.id, least: 'maintainer' });
      const { name, idle_timeout_minutes: idle } = body;
      const change: EnvironmentChange = {
        ...(name !== undefined && { name }),
        ...(idle !== undefined && { idle_timeout_minutes: idle ?? defaultIdleMinutes }),
      };
      if (name !== undefined && name !== row.name)
        await noteChange(tx, context.actor, { kind: 'environment_name', subject: row.id, name: row.slug });
      const event = { kind: 'updated', payload: change };
      return { environment: toEnvironment(await environments.change(tx, row, change, doerOf(context), event)) };
    }),
  );
