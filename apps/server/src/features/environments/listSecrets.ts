import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { enter } from './environments.access.ts';
import { toSecret } from './environments.view.ts';
import { secretsOf } from './secrets/secrets.sql.ts';

export const listSecrets = operation(contract.environments.listSecrets, async (context, { params: { id } }) => {
  await enter(context.db, { accountId: context.actor.accountId, id, least: 'developer' });
  return { secrets: (await secretsOf(context.db, id)).map(toSecret) };
});
