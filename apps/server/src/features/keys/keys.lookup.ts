import { scopesOfPerson } from '@svc/contract';
import type { CredentialChange } from '../../kernel/mount/access.ts';
import { type Actor, isWhose } from '../../kernel/base/actor.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { isKeyText } from './keys.rules.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { revokeWithin } from './keys.change.ts';
import { noteReplaced } from './keys.standing.sql.ts';
import { findGrant, type KeyGrant, touchKey } from './keys.sql.ts';

/** Finds the caller behind a key's text. */
export interface KeyLookup {
  /** Undefined for a key that is malformed, unknown, expired, paused or revoked. No promise on a cache hit. */
  authenticate: (text: string) => Actor | undefined | Promise<Actor | undefined>;
  /** The same by a key's id, which stands in a token that it made. */
  authenticateId: (id: string) => Actor | undefined | Promise<Actor | undefined>;
  /** Forgets one key, the keys of one account, or all; their next use asks the database. */
  evict: (whose: CredentialChange) => void;
}

/** A key is believed this long without asking again (design: kernel); a change evicts it at once. */
const believedMs = 30_000;
/** About 10 MB. When it is full the oldest goes: that is believed for another 30 s at most in any case. */
const mostCached = 20_000;

/** HMAC of a key's text as it is stored. */
export const hashKey = (kernel: Pick<Kernel, 'keyring'>, text: string): Buffer => kernel.keyring.mac('api-key', text);

/** Makes the look-up of this process. */
export function createKeyLookup(kernel: Kernel): KeyLookup {
  const { clock, gateways, sql, log } = kernel;
  // By the key's text: an HMAC a request would cost 5 % of an authenticated GET. The text is in memory with every
  // request in any case, and here for a minute at most.
  const cache = new Map<string, { actor: Actor; until: number }>();
  let loading = new Map<string, Promise<Actor | undefined>>();

  clock.every(believedMs, () => {
    for (const [text, { until }] of cache) if (until <= clock.monotonic()) cache.delete(text);
  });

  async function load(text: string, isId: boolean): Promise<Actor | undefined> {
    // Replaced by `evict`: what was asked before a change must not be believed after it.
    const current = loading;
    const asked = clock.monotonic();
    const grant = await findGrant(sql, isId ? text : hashKey(kernel, text));
    if (!grant) return undefined;
    const actor = toActor(grant);
    if (current === loading && gateways.cachesAreTrusted()) {
      if (cache.size >= mostCached) cache.delete(cache.keys().next().value as string);
      cache.set(text, { actor, until: asked + Math.min(believedMs, grant.expires_in_ms ?? believedMs) });
      noteUse(grant).catch((err: unknown) => log.warn({ err }, 'last use of a key was not noted'));
    }
    return actor;
  }

  /** A key that was made in the place of another one ends that when it is used. */
  async function noteUse({ id, account_id: accountId, replaces }: KeyGrant): Promise<void> {
    await touchKey(sql, id);
    if (replaces === null) return;
    await inTransaction(sql, async (tx) => {
      await revokeWithin(tx, kernel, replaces, { accountId, by: { kind: 'key', keyId: id } });
      await noteReplaced(tx, id, null);
    });
  }

  // A key's text and an id never look alike.
  function find(text: string, isId: boolean): Actor | undefined | Promise<Actor | undefined> {
    if (gateways.cachesAreTrusted()) {
      const known = cache.get(text);
      if (known && known.until > clock.monotonic()) return known.actor;
    }
    if (!isId && !isKeyText(text)) return undefined;
    let answer = loading.get(text);
    if (!answer) {
      const mine = loading;
      answer = load(text, isId).finally(() => mine.delete(text));
      mine.set(text, answer);
    }
    return answer;
  }

  return {
    authenticate: (text) => find(text, false),
    authenticateId: (id) => find(id, true),
    evict(whose) {
      loading = new Map();
      if (whose === null) cache.clear();
      else for (const [text, { actor }] of cache) if (isWhose(actor, whose)) cache.delete(text);
    },
  };
}

/** The command line had terminals by "environments" before there was a scope of them, and has: its person is there. */
function scopesOf({ scopes, is_own_app: isOwn }: KeyGrant): readonly string[] {
  return isOwn && scopes.includes('environments') ? [...new Set([...scopes, 'environments:terminal'])] : scopes;
}

function toActor(grant: KeyGrant): Actor {
  return {
    accountId: grant.account_id,
    credentialId: grant.id,
    kind: grant.kind === 'connection' ? 'token' : 'key',
    keyId: grant.id,
    connectionId: grant.connection_id ?? undefined,
    isOwnApp: grant.is_own_app,
    subscription: grant.subscription,
    suspended: grant.suspended,
    scopes: grant.kind === 'person' ? scopesOfPerson : scopesOf(grant),
    toolLevel: grant.tool_level,
    models: grant.models ?? undefined,
    spendCapMicroUsd: grant.spend_cap_micro_usd ?? undefined,
    expiresAt: grant.expires_at ?? undefined,
    spent: grant.spent,
    features: grant.features,
  };
}
