import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { changeKey } from './keys.change.ts';

export const revoke = operation(contract.keys.revoke, async (context, { params }) => {
  await changeKey(context.kernel, context.actor.accountId, params.id, { status: 'revoked' });
  return { deleted: true as const, id: params.id };
});
