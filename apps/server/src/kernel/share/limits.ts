import type { Clock } from '../base/clock.ts';
import { nowOf, type Sql } from '../db/db.ts';
import { ApiError } from '../base/errors.ts';

/** A fixed window a minute long, shared by every gateway. */
interface RateLimit {
  /** Names the limit in `RateLimit-Policy` and in the database. */
  name: string;
  perMinute: number;
}

/** The requests of a key. */
export const requestsOf = (rates: { requests: number }): RateLimit => ({
  name: 'requests',
  perMinute: rates.requests,
});

/** Those of all keys of an account together: keys are free. */
export const requestsOfAccount = (rates: { account: number }): RateLimit => ({
  name: 'account',
  perMinute: rates.account,
});

/** Where a caller stands in its window. */
export interface RateState {
  allowed: boolean;
  limit: number;
  /** How much is left as far as this gateway knows; never more than the truth. */
  remaining: number;
  /** Seconds until the window ends. */
  resetSeconds: number;
}

export interface RateLimiter {
  /** Takes one from the window of `subject`. Answers without waiting while this gateway holds leased permits. */
  take(limit: RateLimit, subject: string): RateState | Promise<RateState>;
}

const windowMs = 60_000;
/** A lease takes this share of what is left, so that a gateway never hoards what another one needs. */
const leaseShare = 0.02;

interface Window {
  /** Monotonic instant at which the database's minute ends; infinite until the first lease tells. */
  endsAt: number;
  /** Permits leased from the database and not used. */
  permits: number;
  /** How much the database had left after the last lease. */
  left: number;
  leasing: Promise<void> | undefined;
}

/**
 * Rate limits that hold over all gateways without a query a request: a gateway leases permits from the window's row,
 * 2 % of what is left at a time (one at a time for limits below 100, so those are exact). Leased permits count as used:
 * a key never gets more than its limit, and may be refused up to 2 % early per further gateway. The minute is the
 * database's, so gateways whose clocks differ share it.
 */
export function createRateLimiter(sql: Sql, clock: Clock): RateLimiter {
  const windows = new Map<string, Window>();
  clock.every(windowMs, () => {
    for (const [id, window] of windows) if (window.endsAt <= clock.monotonic()) windows.delete(id);
  });

  function current(id: string): Window {
    let window = windows.get(id);
    if (!window || window.endsAt <= clock.monotonic()) {
      window = { endsAt: Number.POSITIVE_INFINITY, permits: 0, left: limitless, leasing: undefined };
      windows.set(id, window);
    }
    return window;
  }

  function spend(window: Window, limit: RateLimit): RateState {
    const allowed = window.permits > 0;
    if (allowed) window.permits -= 1;
    return {
      allowed,
      limit: limit.perMinute,
      remaining: window.permits + window.left,
      resetSeconds: Math.max(1, Math.ceil((window.endsAt - clock.monotonic()) / 1000)),
    };
  }

  async function leaseThenSpend(window: Window, limit: RateLimit, subject: string): Promise<RateState> {
    while (window.permits === 0 && window.left > 0) {
      window.leasing ??= lease(sql, clock, limit, subject, window).finally(() => {
        window.leasing = undefined;
      });
      await window.leasing;
    }
    return spend(window, limit);
  }

  return {
    take(limit, subject) {
      const window = current(`${limit.name}:${subject}`);
      return window.permits > 0 || window.left <= 0 ? spend(window, limit) : leaseThenSpend(window, limit, subject);
    },
  };
}

/** Before the first lease nothing is known of the window. */
const limitless = Number.POSITIVE_INFINITY;

async function lease(sql: Sql, clock: Clock, limit: RateLimit, subject: string, window: Window): Promise<void> {
  const asked = clock.monotonic();
  const [row] = await sql<{ granted: number; used: number; ends_in_ms: number }[]>`
    insert into kernel.rate_windows as w (name, subject, starts_at, used, granted)
    values (${limit.name}, ${subject}, date_trunc('minute', ${nowOf(sql, clock)}),
      kernel.rate_share(${limit.perMinute}, 0, ${leaseShare}), kernel.rate_share(${limit.perMinute}, 0, ${leaseShare}))
    on conflict (name, subject, starts_at) do update set
      used = w.used + kernel.rate_share(${limit.perMinute}, w.used, ${leaseShare}),
      granted = kernel.rate_share(${limit.perMinute}, w.used, ${leaseShare})
    returning granted, used,
      1000 * extract(epoch from starts_at + interval '1 minute' - ${nowOf(sql, clock)})::float8 as ends_in_ms`;
  if (!row) return;
  window.permits += row.granted;
  window.left = limit.perMinute - row.used;
  window.endsAt = asked + row.ends_in_ms;
}

/** Headers that tell a caller where it stands (kernel: Every response). */
export function rateHeaders(name: string, state: RateState): Record<string, string> {
  return {
    ratelimit: `"${name}";r=${state.remaining};t=${state.resetSeconds}`,
    'ratelimit-policy': `"${name}";q=${state.limit};w=${windowMs / 1000}`,
  };
}

/** The 429 of a used-up window. */
export function rateLimitExceeded(name: string, state: RateState): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `over ${state.limit} requests a minute; try again in ${state.resetSeconds} s`,
    {
      headers: { ...rateHeaders(name, state), 'retry-after': String(state.resetSeconds) },
    },
  );
}
