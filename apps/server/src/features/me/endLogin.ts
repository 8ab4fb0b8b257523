import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { endLogin as end, type Identity } from '../auth/index.ts';

export const endLogin = (identity: Identity) =>
  operation(contract.me.endLogin, async (context, { params: { id } }) => {
    const { actor, by, kernel } = context;
    const { accountId } = actor;
    await context.transaction(async (tx) => {
      if (!(await end(kernel, { accountId, loginId: id, by, tx }))) throw notFound('login');
      // It is not known in which browser a session at the provider is: one that stayed would sign that browser in again.
      await identity.endSessions(tx, accountId);
    });
    return { deleted: true as const, id };
  });
