import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { createPhoneLink, linkUrl } from '../auth/index.ts';

export const createLink = operation(contract.me.createLink, async ({ actor, by, kernel }) => {
  const { id, token, code, expiresAt } = await createPhoneLink(kernel, { accountId: actor.accountId, by });
  return { id, url: linkUrl(kernel.config, 'phone', token), code, expires_at: expiresAt };
});
