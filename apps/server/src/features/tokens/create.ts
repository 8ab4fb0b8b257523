import { contract } from '@svc/contract';
import { hasScope } from '../../kernel/mount/access.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { writeToken } from './tokens.text.ts';

/** Makes a token for routes that its key may call. */
export const create = operation(contract.tokens.create, ({ kernel, actor, clock }, { body }) => {
  const { scope, ttl } = body;
  if (!hasScope(actor.scopes, [scope])) {
    throw new ApiError('forbidden', `this key lacks the scope "${scope}", and gives none of it`);
  }
  const lasts = actor.expiresAt === undefined ? Infinity : Date.parse(actor.expiresAt);
  const expiresAt = Math.floor(Math.min(clock.now() + ttl * 1000, lasts) / 1000) * 1000;
  const token = writeToken(kernel, { keyId: actor.keyId, scope, expiresAt });
  return Promise.resolve({ token, scope, expires_at: new Date(expiresAt).toISOString() });
});
