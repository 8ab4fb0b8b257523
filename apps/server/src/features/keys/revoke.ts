import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { hasScope } from '../../kernel/mount/access.ts';
import { operation } from '../../kernel/feature.ts';
import { mayChange } from './keys.terms.ts';
import { revokeKey } from './keys.change.ts';

export const revoke = operation(contract.keys.revoke, async (context, { params, query }) => {
  const { kernel, actor, by } = context;
  if (params.id !== actor.keyId && !hasScope(actor.scopes, ['keys'])) {
    const details = { scopes: ['keys'] };
    throw new ApiError('forbidden', 'this key lacks the scope "keys": it may end itself only', { details });
  }
  const change = { accountId: actor.accountId, by, check: mayChange(actor) };
  const { children, left } = await revokeKey(kernel, params.id, query.children === 'true', change);
  return { deleted: true as const, id: params.id, children_revoked: children, children_left: left };
});
