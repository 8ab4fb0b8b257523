import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { mayChange } from './create.ts';
import { changeKey } from './keys.change.ts';

export const revoke = operation(contract.keys.revoke, async (context, { params }) => {
  const { kernel, actor } = context;
  await changeKey(kernel, actor.accountId, params.id, { status: 'revoked' }, mayChange(actor));
  return { deleted: true as const, id: params.id };
});
