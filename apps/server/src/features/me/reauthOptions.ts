import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { authenticationOptions } from '../auth/index.ts';

export const reauthOptions = operation(contract.me.reauthOptions, async ({ actor, kernel }) => ({
  ...(await authenticationOptions(kernel, { accountId: actor.accountId })),
}));
