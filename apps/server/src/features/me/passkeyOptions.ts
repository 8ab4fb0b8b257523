import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { registrationOptions } from '../auth/index.ts';

export const passkeyOptions = operation(contract.me.passkeyOptions, async ({ actor, kernel }) => ({
  ...(await registrationOptions(kernel, { accountId: actor.accountId })),
}));
