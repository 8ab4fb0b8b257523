import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { removePassword as take } from '../auth/index.ts';
import { lastWayIn, lockWays } from './me.ways.ts';

export const removePassword = operation(contract.me.removePassword, async (context) => {
  const { actor, by, kernel } = context;
  const { accountId } = actor;
  return context.transaction(async (tx) => {
    const { password, passkeys } = await lockWays(tx, accountId);
    if (!password) throw notFound('password');
    if (passkeys.length === 0) throw lastWayIn();
    await take(kernel, { accountId, by, tx });
    return { deleted: true as const };
  });
});
