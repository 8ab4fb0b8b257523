import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { hold } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import { type Environments, toMoved } from './environments.store.ts';

export const destroy = (environments: Environments): Operation =>
  operation(contract.environments.destroy, (context, { params }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await hold(tx, { accountId, id: params.id, least: 'owner' });
      return toMoved(await environments.destroy(tx, row, doerOf(context)));
    }),
  );
