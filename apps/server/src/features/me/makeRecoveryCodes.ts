import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { makeRecoveryCodes as make } from '../auth/index.ts';

export const makeRecoveryCodes = operation(contract.me.makeRecoveryCodes, async (context) => {
  const { actor, by, kernel } = context;
  return context.transaction(async (tx) => ({ codes: await make(kernel, { accountId: actor.accountId, by, tx }) }));
});
