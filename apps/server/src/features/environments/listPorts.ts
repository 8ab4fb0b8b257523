import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { enter } from './environments.access.ts';
import { toPort } from './environments.view.ts';
import { portsOf } from './people/ports.sql.ts';

export const listPorts = operation(contract.environments.listPorts, async (context, { params: { id } }) => {
  await enter(context.db, { accountId: context.actor.accountId, id, least: 'viewer' });
  return { ports: (await portsOf(context.db, id)).map(toPort) };
});
