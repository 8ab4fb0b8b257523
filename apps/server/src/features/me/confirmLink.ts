import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { confirmPhone } from '../auth/index.ts';

export const confirmLink = operation(contract.me.confirmLink, async ({ actor, by, kernel }, { params, body }) => {
  const confirmed = await confirmPhone(kernel, { accountId: actor.accountId, ...params, ...body, by });
  if (confirmed === undefined) throw new ApiError('not_found', 'no phone waits at this link');
  return { confirmed };
});
