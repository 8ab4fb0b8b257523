import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { testDatabase, until } from '../../testing.ts';
import { testClock } from '../base/clock.ts';
import { openDatabase } from '../db/db.ts';
import { openTestPool, proxyDatabase } from '../testing.ts';
import { createLog } from '../base/log.ts';
import { createUsageRecorder, type UsageRecord } from './usage.ts';
import { shared } from '../../testing.shared.ts';

const quiet = createLog('silent');

describe('usage recorder', () => {
  const { database, sql } = shared(() => openTestPool(2));
  const record = (keyId: string, change: Partial<UsageRecord> = {}): UsageRecord => ({
    at: Date.now(),
    accountId: randomUUID(),
    keyId,
    deviceId: undefined,
    route: 'test.run',
    status: 200,
    bytes: 1,
    ms: 1,
    costMicroUsd: 0,
    traceId: 'trace',
    ...change,
  });
  const count = async (keyId: string): Promise<number> =>
    (await sql<{ n: number }[]>`select count(*)::int as n from kernel.usage_records where key_id = ${keyId}`)[0]?.n ??
    0;

  test('writes what it holds every half second, every field as it was', async () => {
    const clock = testClock();
    const recorder = createUsageRecorder(sql, clock, quiet);
    const keyId = randomUUID();
    const deviceId = randomUUID();
    const traceId = `odd ' " \\ {},é\u00ff ${'x'.repeat(90)}`;
    const full = record(keyId, { at: 1_800_000_000_123, deviceId, bytes: 2 ** 40, costMicroUsd: 7, traceId });
    recorder.record(full);
    clock.advance(499);
    assert.equal(await count(keyId), 0);
    clock.advance(1);
    await until(async () => (await count(keyId)) === 1);
    const [row] = await sql`select * from kernel.usage_records where key_id = ${keyId}`;
    assert.deepEqual(
      { ...row },
      {
        at: new Date(1_800_000_000_123).toISOString(),
        account_id: full.accountId,
        key_id: keyId,
        login_id: null,
        device_id: deviceId,
        route: 'test.run',
        status: 200,
        bytes: 2 ** 40,
        ms: 1,
        cost_micro_usd: 7,
        trace_id: traceId,
      },
    );
    await recorder.close();
  });

  test('10,000 records are all written by one flush, none twice, though more come and flushes overlap', async () => {
    const recorder = createUsageRecorder(sql, testClock(), quiet);
    const keyId = randomUUID();
    for (let i = 0; i < 10_000; i++) recorder.record(record(keyId));
    const flushes = [recorder.flush(), recorder.flush()];
    for (let i = 0; i < 500; i++) recorder.record(record(keyId));
    await Promise.all([...flushes, recorder.flush()]);
    assert.equal(await count(keyId), 10_500);
    await recorder.close();
    assert.equal(await count(keyId), 10_500);
  });

  test('a close writes what is held', async () => {
    const recorder = createUsageRecorder(sql, testClock(), quiet);
    const keyId = randomUUID();
    for (let i = 0; i < 5_000; i++) recorder.record(record(keyId));
    await recorder.close();
    assert.equal(await count(keyId), 5_000);
  });

  test('records outlive a database that is away, and are written once it is back', async (t) => {
    const behind = await proxyDatabase(database);
    const pool = openDatabase(behind.database.target, 1);
    t.after(() => pool.end({ timeout: 1 }).then(() => behind.proxy.close()));
    const clock = testClock();
    const recorder = createUsageRecorder(pool, clock, quiet);
    const keyId = randomUUID();
    recorder.record(record(keyId));
    await recorder.flush();
    await behind.proxy.cut();
    for (let i = 0; i < 3_000; i++) recorder.record(record(keyId));
    await recorder.flush();
    assert.equal(await count(keyId), 1);
    await behind.proxy.restore();
    await until(async () => {
      clock.advance(500);
      return (await count(keyId)) === 3_001;
    });
    await recorder.close();
    assert.equal(await count(keyId), 3_001);
  });

  test('a stream that was open for a month harms no other record', async () => {
    const recorder = createUsageRecorder(sql, testClock(), quiet);
    const keyId = randomUUID();
    recorder.record(record(keyId, { ms: 40 * 86_400_000 }));
    recorder.record(record(keyId));
    await recorder.close();
    assert.equal(await count(keyId), 2);
  });

  test('a month past its 90 days is dropped whole, and what its keys cost is still counted', async (t) => {
    await using database = await testDatabase();
    const pool = openDatabase(database.target, 1);
    t.after(() => pool.end({ timeout: 1 }));
    const months = async (): Promise<string[]> => {
      const rows = await pool<{ name: string }[]>`
        select inhrelid::regclass::text as name from pg_inherits
        where inhparent = 'kernel.usage_records'::regclass order by 1`;
      return rows.map(({ name }) => name.replace('kernel.usage_records_', ''));
    };
    const keep = (today: string) =>
      pool`select kernel.keep_usage_months(${today}::timestamptz, ${today}::timestamptz - interval '90 days')`;
    const clock = testClock();
    const at = (text: string): number => Date.parse(text);
    await keep('2040-01-31T23:59:59Z');
    assert.deepEqual(await months(), ['204001', '204002', '204003', 'other']);
    const recorder = createUsageRecorder(pool, clock, quiet);
    const [one, other] = [randomUUID(), randomUUID()];
    const accountId = randomUUID();
    for (const [keyId, when, costMicroUsd] of [
      [one, '2040-01-31T23:59:59.999Z', 1],
      [one, '2040-02-01T00:00:00Z', 10],
      [one, '2040-03-31T00:00:00Z', 100],
      [other, '2040-02-28T00:00:00Z', 7],
      [other, '2039-12-31T00:00:00Z', 1_000],
      [one, '2050-01-01T00:00:00Z', 0],
    ] as const) {
      recorder.record(record(keyId, { accountId, at: at(when), costMicroUsd }));
    }
    await recorder.close();
    const spent = async () => {
      const rows = await pool<{ key_id: string; cost_micro_usd: number }[]>`select * from kernel.key_spend_view`;
      const costs = new Map(rows.map((row) => [row.key_id, row.cost_micro_usd]));
      return [costs.get(one), costs.get(other)];
    };
    assert.deepEqual(await spent(), [111, 1_007]);
    await keep('2040-05-01T00:00:00Z');
    assert.deepEqual(await months(), ['204002', '204003', '204005', '204006', '204007', 'other']);
    await keep('2040-05-31T00:00:00Z');
    await keep('2040-05-31T00:00:00Z');
    assert.deepEqual(await months(), ['204003', '204005', '204006', '204007', 'other']);
    assert.deepEqual(await spent(), [111, 1_007]);
    const [left] = await pool<{ n: number }[]>`select count(*) as n from kernel.usage_records`;
    assert.equal(left?.n, 2);
  });

  test('what an account asks thick and free is counted by key, route, status and minute; the first of a minute are told one by one', async () => {
    const clock = testClock();
    const recorder = createUsageRecorder(sql, clock, quiet);
    const accountId = randomUUID();
    const [one, two] = [randomUUID(), randomUUID()];
    const at = 1_800_000_000_000;
    const flood = (count: number, keyId: string, more: Partial<UsageRecord> = {}) => {
      for (let n = 0; n < count; n += 1) recorder.record(record(keyId, { at, accountId, bytes: 2, ms: 3, ...more }));
    };
    flood(10_000, one);
    flood(500, two, { status: 404 });
    flood(5, two, { costMicroUsd: 4 });
    await recorder.flush();
    // A later second of the same minute adds to it; the next one begins anew.
    flood(1_000, one, { at: at + 1_000 });
    flood(200, one, { at: at + 60_000 });
    // Another account has its own.
    const other = randomUUID();
    recorder.record(record(other, { at }));
    await recorder.close();
    assert.deepEqual([await count(one), await count(two), await count(other)], [240, 5, 1]);
    const counts = await sql`
      select key_id, route, status, minute, requests, bytes, ms from kernel.usage_counts
      where account_id = ${accountId} order by minute, requests desc`;
    const minute = (ms: number) => new Date(Math.floor(ms / 60_000) * 60_000).toISOString();
    const row = (keyId: string, status: number, when: number, requests: number) => ({
      key_id: keyId,
      route: 'test.run',
      status,
      minute: minute(when),
      requests,
      bytes: requests * 2,
      ms: requests * 3,
    });
    assert.deepEqual(
      counts.map((each) => ({ ...each })),
      [row(one, 200, at, 10_880), row(two, 404, at, 500), row(one, 200, at + 60_000, 80)],
    );
  });

  test('an account counts 500 kinds of requests apart in a minute, and further ones together', async () => {
    const recorder = createUsageRecorder(sql, testClock(), quiet);
    const accountId = randomUUID();
    for (let n = 0; n < 2_120; n += 1) recorder.record(record(randomUUID(), { accountId, route: `r${n % 7}` }));
    await recorder.close();
    const [row] = await sql`
      select count(*)::int as rows, sum(requests)::int as requests,
        (count(*) filter (where route <> '*'))::int as apart from kernel.usage_counts where account_id = ${accountId}`;
    assert.deepEqual({ ...row, rows: 0 }, { rows: 0, requests: 2_000, apart: 500 });
  });
});
