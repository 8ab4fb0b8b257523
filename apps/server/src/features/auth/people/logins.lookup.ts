import type { ToolLevel } from '@svc/contract';
import type { Kernel } from '../../../kernel/kernel.ts';
import { findLogin, type LoginGrantRow, takeToken, touchLogin } from './logins.sql.ts';
import { announceChange, type LoginChange } from './parts.ts';
import { hashOfSecret } from './secrets.ts';

/** A browser that is signed in, and what its account may do. */
export interface LoginGrant {
  readonly loginId: string;
  readonly accountId: string;
  /** When the person proved last who they are; milliseconds since the epoch. */
  readonly authTime: number;
  readonly amr: readonly string[];
  /** RFC 3339; when it ends if it is not used again. */
  readonly expiresAt: string;
  readonly subscription: 'active' | 'inactive';
  readonly suspended: boolean;
  readonly operator: boolean;
  readonly toolLevel: ToolLevel;
  readonly features: Readonly<Record<string, boolean>>;
}

/** Finds the login behind the text of a cookie. */
export interface LoginLookup {
  /**
   * Undefined for a text that is malformed or unknown, and for a login that ended. No promise on a cache hit. Not
   * `isUse`: the login does not live longer by it.
   */
  authenticate: (token: string, isUse?: boolean) => LoginGrant | undefined | Promise<LoginGrant | undefined>;
  /** Forgets one login, those of one account, or all; their next use asks the database. */
  evict: (whose: LoginChange) => void;
}

/** A login is believed this long without asking again, as a key is; a change evicts it at once. */
const believedMs = 30_000;
/** About 10 MB. When it is full the oldest goes. */
const mostCached = 20_000;

/** Makes the look-up of this process. Hand it every `credentials.changed`, and null when some may have been missed. */
export function createLoginLookup(kernel: Pick<Kernel, 'clock' | 'gateways' | 'sql' | 'log'>): LoginLookup {
  const { clock, gateways, sql, log } = kernel;
  const cache = new Map<string, { grant: LoginGrant; until: number }>();
  let loading = new Map<string, Promise<LoginGrant | undefined>>();

  clock.every(believedMs, () => {
    for (const [token, { until }] of cache) if (until <= clock.monotonic()) cache.delete(token);
  });

  async function load(token: string, hash: Buffer, isUse: boolean): Promise<LoginGrant | undefined> {
    // Replaced by `evict`: what was asked before a change must not be believed after it.
    const current = loading;
    const asked = clock.monotonic();
    const row = await findTaken(kernel, hash);
    if (!row) return undefined;
    const grant = toGrant(row);
    const noted = isUse ? touchLogin(sql, clock, row.id) : Promise.resolve();
    noted.catch((err: unknown) => log.warn({ err }, 'last use of a login was not noted'));
    if (current === loading && gateways.cachesAreTrusted()) {
      if (cache.size >= mostCached) cache.delete(cache.keys().next().value as string);
      cache.set(token, { grant, until: asked + Math.min(believedMs, row.expires_in_ms) });
    }
    return grant;
  }

  return {
    authenticate(token, isUse = true) {
      if (gateways.cachesAreTrusted()) {
        const known = cache.get(token);
        if (known && known.until > clock.monotonic()) return known.grant;
      }
      const hash = hashOfSecret(token);
      if (!hash) return undefined;
      let answer = loading.get(token);
      if (!answer) {
        const mine = loading;
        answer = load(token, hash, isUse).finally(() => mine.delete(token));
        mine.set(token, answer);
      }
      return answer;
    },
    evict(whose) {
      loading = new Map();
      if (whose === null) cache.clear();
      else for (const [token, { grant }] of cache) if (isWhose(grant, whose)) cache.delete(token);
    },
  };
}

/** The login of a token; one that was offered is its only one from now on, before anything is done with it. */
async function findTaken(
  kernel: Pick<Kernel, 'clock' | 'gateways' | 'sql'>,
  hash: Buffer,
): Promise<LoginGrantRow | undefined> {
  const row = await findLogin(kernel.sql, kernel.clock, hash);
  if (!row?.offered) return row;
  // Else another request took it, or another token was offered in its place.
  if (!(await takeToken(kernel.sql, kernel.clock, hash))) return findLogin(kernel.sql, kernel.clock, hash);
  await announceChange(kernel, { accountId: row.account_id, credentialId: row.id });
  return row;
}

const isWhose = (grant: LoginGrant, { accountId, credentialId }: NonNullable<LoginChange>): boolean =>
  grant.accountId === accountId && (credentialId === undefined || grant.loginId === credentialId);

function toGrant(row: LoginGrantRow): LoginGrant {
  return {
    loginId: row.id,
    accountId: row.account_id,
    authTime: Date.parse(row.auth_time),
    amr: row.amr,
    expiresAt: row.expires_at,
    subscription: row.subscription,
    suspended: row.suspended,
    operator: row.operator,
    toolLevel: row.tool_level,
    features: row.features,
  };
}
