import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { phoneState } from '../auth/index.ts';

export const getLink = operation(contract.me.getLink, async ({ actor, kernel }, { params: { id } }) => {
  const found = await phoneState(kernel, { accountId: actor.accountId, id });
  if (!found) throw notFound('link');
  const { state, expiresAt } = found;
  return {
    state,
    expires_at: expiresAt,
    ...('phone' in found && { phone: found.phone }),
    ...('numbers' in found && { numbers: found.numbers }),
  };
});
