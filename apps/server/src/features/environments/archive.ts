import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import { hold } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import { type Environments, toMoved } from './environments.store.ts';

export const archive = (environments: Environments): Operation =>
  operation(contract.environments.archive, (context, { params }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await hold(tx, { accountId, id: params.id, least: 'maintainer' });
      return toMoved(await environments.move(tx, row, 'archive', {}, doerOf(context)));
    }),
  );
