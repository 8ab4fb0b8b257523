import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { systemClock, testClock } from '../base/clock.ts';
import { openDatabase } from '../db/db.ts';
import { createRateLimiter, rateHeaders, type RateLimiter, rateLimitExceeded, type RateState } from './limits.ts';
import { openTestPool, withinOneMinute } from '../testing.ts';
import { shared } from '../../testing.shared.ts';

describe('rate limits', () => {
  const { sql, gateways } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const { database, sql: first } = opening.use(await openTestPool(5));
    const other = opening.adopt(openDatabase(database.target, 5), (pool) => pool.end({ timeout: 1 }));
    const limiters = [first, other].map((pool) => createRateLimiter(pool, systemClock));
    const stack = opening.move();
    return { sql: first, gateways: limiters, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });
  const limitOf = (perMinute: number) => ({ name: 'test', perMinute });
  const allowed = (states: readonly RateState[]): number => states.filter((state) => state.allowed).length;

  for (const perMinute of [1, 5, 30, 99]) {
    test(`of many at once over two gateways exactly ${perMinute} pass a limit of ${perMinute}`, async () => {
      await withinOneMinute(async () => {
        const subject = randomUUID();
        const states = await Promise.all(
          Array.from({ length: perMinute * 3 + 20 }, async (_, i) =>
            gateways[i % 2]?.take(limitOf(perMinute), subject),
          ),
        );
        assert.equal(allowed(states as RateState[]), perMinute);
      });
    });
  }

  test('of 3,000 at once over two gateways at most 1,000 pass a limit of 1,000, and at least 960', async () => {
    await withinOneMinute(async () => {
      const subject = randomUUID();
      const states = await Promise.all(
        Array.from({ length: 3_000 }, async (_, i) => gateways[i % 2]?.take(limitOf(1_000), subject)),
      );
      const passed = allowed(states as RateState[]);
      assert.ok(passed <= 1_000 && passed >= 960, `${passed}`);
    });
  });

  test('one gateway alone gets all of its 1,000', async () => {
    await withinOneMinute(async () => {
      const subject = randomUUID();
      let passed = 0;
      for (let i = 0; i < 1_100; i++) passed += (await gateways[0]?.take(limitOf(1_000), subject))?.allowed ? 1 : 0;
      assert.equal(passed, 1_000);
    });
  });

  test('subjects and names have windows of their own', async () => {
    await withinOneMinute(async () => {
      const [one, two] = [randomUUID(), randomUUID()];
      const take = (name: string, subject: string) => gateways[0]?.take({ name, perMinute: 1 }, subject);
      assert.equal((await take('a', one))?.allowed, true);
      assert.equal((await take('a', one))?.allowed, false);
      assert.equal((await take('a', two))?.allowed, true);
      assert.equal((await take('b', one))?.allowed, true);
    });
  });

  test('the window of a new minute is full again, and nothing leased in the old one counts in it', async () => {
    const clock = testClock();
    const limiter = createRateLimiter(sql, clock);
    const subject = randomUUID();
    const take = async () => {
      const { allowed, remaining } = await limiter.take(limitOf(3), subject);
      return [allowed, remaining];
    };
    const minute = [
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
    ];
    for (let i = 0; i < 2; i++) {
      for (const state of minute) assert.deepEqual(await take(), state);
      clock.advance(60_000);
    }
  });

  test('what is leased answers without a query, and a used-up window too', async () => {
    await withinOneMinute(async () => {
      const [limiter] = gateways as [RateLimiter, RateLimiter];
      const subject = randomUUID();
      assert.ok(limiter.take(limitOf(1_000), subject) instanceof Promise);
      await limiter.take(limitOf(1_000), subject);
      assert.ok(!(limiter.take(limitOf(1_000), subject) instanceof Promise));
      const small = randomUUID();
      await limiter.take(limitOf(1), small);
      assert.ok(!(limiter.take(limitOf(1), small) instanceof Promise));
    });
  });

  test('headers hold integers, and a reset within the minute', async () => {
    const state = (await gateways[0]?.take(limitOf(10), randomUUID())) as RateState;
    assert.ok(Number.isInteger(state.resetSeconds) && state.resetSeconds >= 1 && state.resetSeconds <= 60);
    const headers = rateHeaders('requests', { ...state, remaining: 9 });
    assert.equal(headers['ratelimit'], `"requests";r=9;t=${state.resetSeconds}`);
    assert.equal(headers['ratelimit-policy'], '"requests";q=10;w=60');
    const refusal = rateLimitExceeded('requests', { ...state, allowed: false });
    assert.equal(refusal.headers?.['retry-after'], String(state.resetSeconds));
  });

  test('a database that is away refuses nobody for good: the next look-up works', async () => {
    await withinOneMinute(async () => {
      const limiter = createRateLimiter(sql, systemClock);
      const subject = randomUUID();
      await sql`alter table kernel.rate_windows rename to away`;
      await assert.rejects(Promise.resolve(limiter.take(limitOf(5), subject)));
      await sql`alter table kernel.away rename to rate_windows`;
      assert.equal((await limiter.take(limitOf(5), subject)).allowed, true);
    });
  });
});
