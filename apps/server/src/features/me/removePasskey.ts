import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { removePasskey as take } from '../auth/index.ts';
import { lastWayIn, lockWays } from './me.ways.ts';

export const removePasskey = operation(contract.me.removePasskey, async (context, { params: { id } }) => {
  const { actor, by, kernel } = context;
  const { accountId } = actor;
  return context.transaction(async (tx) => {
    const { password, passkeys } = await lockWays(tx, accountId);
    if (!passkeys.some((one) => one.id === id)) throw notFound('passkey');
    if (!password && passkeys.length === 1) throw lastWayIn();
    await take(kernel, { accountId, id, by, tx });
    return { deleted: true as const, id };
  });
});
