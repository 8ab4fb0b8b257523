import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createAccount, http, startGateway, type TestDatabase, type TestGateway, testDatabase } from '../testing.ts';
import { testClock } from './clock.ts';
import { openDatabase } from './db.ts';
import { createLog } from './log.ts';
import { createUsageRecorder, type UsageRecord } from './usage.ts';

describe('usage records', () => {
  let database: TestDatabase;
  let gateway: TestGateway;

  before(async () => {
    database = await testDatabase();
    gateway = await startGateway(database);
  });
  after(async () => {
    await gateway.close();
    await database.drop();
  });

  test('tell of every authenticated request who, what, how long and how much', async () => {
    const account = await createAccount(gateway);
    const device = randomUUID();
    await http(gateway.url, '/v1/devices', {
      key: account.key,
      headers: { 'x-svc-device': device, 'x-request-id': 'mine' },
    });
    await http(gateway.url, '/v1/nothing', { key: account.key });
    await http(gateway.url, `/v1/keys/${randomUUID()}`, { key: account.key, method: 'DELETE' });
    await http(gateway.url, '/health');
    await gateway.kernel.usage.flush();
    const rows = await gateway.kernel
      .sql`select * from kernel.usage_records where account_id = ${account.id} order by at`;
    assert.deepEqual(
      rows.map((row) => [row['route'], row['status'], row['device_id'], row['cost_micro_usd']]),
      [
        ['devices.list', 200, device, 0],
        ['keys.revoke', 404, null, 0],
      ],
    );
    assert.equal(rows[0]?.['trace_id'], 'mine');
    assert.equal(rows[0]?.['key_id'], account.keyId);
    assert.ok(rows[0]?.['bytes'] > 0);
  });

  test('outlive a database that is away, and are written when it is back', async () => {
    const sql = openDatabase(database.target, 1);
    const recorder = createUsageRecorder(sql, testClock(), createLog('silent'));
    const record: UsageRecord = {
      at: Date.now(),
      accountId: randomUUID(),
      keyId: randomUUID(),
      deviceId: undefined,
      route: 'test.outage',
      status: 200,
      bytes: 1,
      ms: 1,
      costMicroUsd: 0,
      traceId: 't',
    };
    await sql`alter table kernel.usage_records rename to usage_records_away`;
    for (let i = 0; i < 5_000; i++) recorder.record(record);
    await recorder.flush();
    await sql`alter table kernel.usage_records_away rename to usage_records`;
    await recorder.close();
    const [row] = await sql<{ count: number }[]>`select count(*) from kernel.usage_records where route = 'test.outage'`;
    assert.equal(row?.count, 5_000);
    await sql.end();
  });
});
