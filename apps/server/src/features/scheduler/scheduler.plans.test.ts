import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { systemClock } from '../../kernel/base/clock.ts';
import type { Db, Sql } from '../../kernel/db/db.ts';
import { pagesOf } from '../../testing.plans.ts';
import { shared } from '../../testing.shared.ts';
import { asOwner, openTest } from '../../testing.ts';
import { insertAttempt } from './attempts/attempts.sql.ts';
import { claimForCloud, claimForHost } from './claims/claims.sql.ts';
import { listIdleChains, listOrphanedSteps } from './scheduler.runs.sql.ts';
import { listKeyless, listOverdue, probeRuns } from './tickers/due.sql.ts';

/** Of a burst that waits, and of the history before it. */
const [waiting, over] = [2_000, 6_000];
/** A statement that takes one run, or looks whether there is one, reads these at most: a claim read 266,000 once. */
const mostPages = 200;

/** Runs of one account, each of a schedule of its own. */
async function fill(sql: Sql, account: { id: string; keyId: string }, pool: string, state: string, count: number) {
  await sql`
    insert into scheduler.runs (account_id, schedule_id, key_id, scheduled_for, origin, state, created_at, not_before,
      name, kind, spec, pool, target_type, overlap, timeout_s, retries, retry_backoff_s)
    select ${account.id}, gen_random_uuid(), ${account.keyId}, now(), 'event', ${state}, now(), now() - interval '1 s',
      'n', 'http', '{}', ${pool}, ${pool === 'host' ? 'any' : 'cloud'}, 'queue', 60, 0, 1
    from generate_series(1, ${count})`;
}

describe('a burst that comes after the statistics were made while nothing waited', () => {
  const { t, run } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const t = opening.use(await openTest());
    await t.gateway.close();
    const run = await asOwner(t.database, async (sql) => {
      await fill(sql, t.account, 'host', 'succeeded', over);
      await sql`vacuum (analyze) scheduler.runs`;
      await sql`analyze scheduler.attempts`;
      for (const pool of ['host', 'cloud']) await fill(sql, t.account, pool, 'pending', waiting);
      await sql`
        insert into scheduler.attempts (run_id, attempt, state, started_at)
        select id, 1, 'failed', now() from scheduler.runs`;
      const [some] = await sql<{ id: string }[]>`select id from scheduler.runs limit 1`;
      return some ?? assert.fail();
    });
    const stack = opening.move();
    return { t, run, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  const claim = () => {
    const [now, later] = [0, 60_000].map((ms) => new Date(Date.now() + ms).toISOString()) as [string, string];
    return { holderId: randomUUID(), now, leaseUntil: later };
  };
  const host = { deviceId: randomUUID(), kinds: ['http'], tags: [] };
  const endAttempt = async (db: Db, attempt: number): Promise<void> => {
    const at = new Date().toISOString();
    await insertAttempt(db, run.id, {
      attempt,
      device_id: null,
      state: 'failed',
      started_at: at,
      finished_at: at,
      error: null,
      ended_processes: null,
    });
  };
  const deal = { taken: new Map(), ofOne: 1, total: 1 };
  const statements: Record<string, (db: Db) => Promise<unknown>> = {
    'a claim of a machine': (db) => claimForHost(db, t.account.id, host, claim(), false),
    'a claim of the cloud': (db) => claimForCloud(db, ['http'], deal, claim()),
    'the look for work that is due': (db) => probeRuns(db, systemClock),
    'the look for runs whose key has ended': (db) => listKeyless(db, 100),
    'the look for runs to take back': (db) => listOverdue(db, new Date().toISOString(), 100),
    'the look for chains that wait': (db) => listIdleChains(db, new Date().toISOString(), 100),
    'the look for steps without their chain': (db) => listOrphanedSteps(db, 100),
    'the end of a first attempt': (db) => endAttempt(db, 2),
    'the end of a late attempt': (db) => endAttempt(db, 12),
  };
  for (const [name, ask] of Object.entries(statements)) {
    test(`${name} reads no more than a few pages`, async (context) => {
      const pages = await pagesOf(t.database, ask);
      context.diagnostic(`${pages} pages`);
      assert.ok(pages > 0 && pages <= mostPages, `${pages} pages`);
    });
  }
});
