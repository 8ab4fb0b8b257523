import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount, http, startGateway, until } from '../../testing.ts';
import { randomOf, suiteSeed } from '../../testing.random.ts';
import { openTestPool } from '../../kernel/testing.ts';

/** The suite's share of the 200 that were shown; `SVC_TEST_KILLS=200` runs them all in about two minutes. */
const kills = Number(process.env['SVC_TEST_KILLS'] ?? 4);
const random = randomOf(suiteSeed);
const lanes = 4;
const ticker = join(import.meta.dirname, 'tickers/testing.ts');

describe('scheduler: tickers that are killed', () => {
  test(`${kills} tickers killed with -9 at random instants lose no slot and double none`, {
    timeout: 60_000 + 30_000 * kills,
  }, async () => {
    await using pool = await openTestPool(lanes);
    const { database, sql } = pool;
    await using gateway = await startGateway(database);
    const account = await createAccount(gateway);
    const trigger = { type: 'cron', expr: '* * * * * *' };
    for (let n = 0; n < 20; n += 1) {
      // all_within: on a busy machine more than a minute may pass without a tick.
      const body = {
        name: `${n}`,
        kind: 'agent',
        spec: { prompt: 'x' },
        trigger,
        late_after_s: 0,
        misfire: 'all_within',
      };
      assert.equal((await http(gateway.url, '/v1/schedules', { method: 'POST', key: account.key, body })).status, 201);
    }
    await gateway.close();
    // However fast the machine is, the last gateway stays until more than five slots of each schedule are due.
    const enough = Date.now() + 7000;
    const name = 'database' in database.target ? database.target.database : '';
    const isBehind = async (): Promise<boolean> =>
      (await sql`select 1 from schedules.schedules where next_run_at < now() - interval '30 seconds' limit 1`).length >
      0;
    let left = kills;
    const lane = async (): Promise<void> => {
      while (left-- > 0) await killOne(name, isBehind);
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    await using last = await startGateway(database);
    const end = new Date(Math.max(Date.now(), enough));
    await until(async () => {
      const behind = await last.kernel.sql`select 1 from schedules.schedules where next_run_at <= ${end} limit 1`;
      return behind.length === 0;
    });
    const schedules = await last.kernel.sql<{ runs: number; seconds: number; distinct: number }[]>`
      select count(*)::int as runs, count(distinct scheduled_for)::int as distinct,
        extract(epoch from max(scheduled_for) - min(scheduled_for))::int + 1 as seconds
      from scheduler.runs group by schedule_id`;
    assert.equal(schedules.length, 20);
    for (const { runs, seconds, distinct } of schedules) assert.deepEqual([runs, distinct], [seconds, seconds]);
    assert.ok(schedules.every(({ runs }) => runs > 5));
  });
});

/**
 * Starts a ticker and kills it within half a second of its first tick. Of a hundred missed slots of a schedule the oldest
 * are dropped, so on a machine where no ticker comes to its end in time it lives until they have caught up.
 */
async function killOne(database: string, isBehind: () => Promise<boolean>): Promise<void> {
  const child = spawn(process.execPath, [ticker, database], { stdio: ['ignore', 'pipe', 'inherit'] });
  const gone = once(child, 'exit');
  const [said] = (await Promise.race([once(child.stdout, 'data'), gone])) as [unknown];
  assert.equal(String(said), 'ticking\n');
  await delay(random() * 500);
  while (await isBehind()) await delay(100);
  child.kill('SIGKILL');
  await gone;
}
