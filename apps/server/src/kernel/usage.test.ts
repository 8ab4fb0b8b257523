import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { until } from '../testing.ts';
import { testClock } from './clock.ts';
import { openDatabase } from './db/db.ts';
import { openTestPool, proxyDatabase } from './testing.ts';
import { createLog } from './log.ts';
import { createUsageRecorder, type UsageRecord } from './usage.ts';
import { shared } from '../testing.shared.ts';

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
});
