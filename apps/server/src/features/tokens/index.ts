import type { TokenScope } from '@svc/contract';
import type { Actor } from '../../kernel/base/actor.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { readToken, tokenPrefix } from './tokens.text.ts';

type Find<T> = (of: T) => Actor | undefined | Promise<Actor | undefined>;

/** Finds the caller behind the text of a key or a token; a token is good on routes of its scope, and while its key is. */
export const createAuthentication =
  (kernel: Kernel, keys: { authenticate: Find<string>; authenticateId: Find<string> }) =>
  (text: string, tokenScope?: TokenScope): Actor | undefined | Promise<Actor | undefined> => {
    if (!text.startsWith(tokenPrefix)) return keys.authenticate(text);
    const token = readToken(kernel, text);
    if (!token || token.scope !== tokenScope || token.expiresAt <= kernel.clock.now()) return undefined;
    return keys.authenticateId(token.keyId);
  };
