import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { hold } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import type { Environments } from './environments.store.ts';
import { mint } from './secrets/tokens.ts';

export const enrollToken = (environments: Environments): Operation =>
  operation(contract.environments.enrollToken, (context, { params: { id } }) =>
    context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await hold(tx, { accountId, id, least: 'maintainer' });
      if (row.provider !== 'byo')
        throw new ApiError('not_byo', 'its machine is at a provider and enrols by itself; nobody enrols another');
      const now = await readNow(tx, context.clock);
      environments.checkEnrollable(row, now);
      const { token, expiresAt } = await mint(tx, now, {
        environmentId: id,
        keyId: context.actor.keyId,
        createdBy: accountId,
      });
      const event = { kind: 'token_minted', payload: { expires_at: expiresAt } };
      await environments.tell(tx, row, doerOf(context), event);
      return { token, expires_at: expiresAt, environment_id: id };
    }),
  );
