import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { createPhoneLink, linkUrl } from '../auth/index.ts';

export const createLink = operation(contract.me.createLink, async (context) => {
  const { actor, by, kernel } = context;
  const { id, token, code, expiresAt } = await context.transaction((tx) =>
    createPhoneLink(kernel, { accountId: actor.accountId, loginId: actor.credentialId, by, tx }),
  );
  return { id, url: linkUrl(kernel.config, 'phone', token), code, expires_at: expiresAt };
});
