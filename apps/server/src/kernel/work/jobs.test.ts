import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { startGateway, openTest, until } from '../../testing.ts';
import { inTransaction } from '../db/db.ts';
import { sweepKernel } from '../sweep.ts';
import type { JobDefinition } from '../feature.ts';

describe('jobs', () => {
  const { gateway: a, second: b, database } = shared(() => openTest({ gateways: 2 }));
  const ran: { by: string; data: unknown }[] = [];
  let failures = 0;
  let hang: PromiseWithResolvers<void> | undefined;
  let started = 0;

  const definitions = (by: string): JobDefinition[] => [
    { name: 'test.note', run: (_, data) => Promise.resolve(void ran.push({ by, data })) },
    {
      name: 'test.flaky',
      retries: 3,
      run(_, data) {
        if (failures++ < 1) return Promise.reject(new Error('on purpose'));
        ran.push({ by, data });
        return Promise.resolve();
      },
    },
    { name: 'test.cron', cron: '0 0 1 1 *', run: () => Promise.resolve() },
    {
      name: 'test.long',
      async run(_, data) {
        started += 1;
        await hang?.promise;
        ran.push({ by, data });
      },
    },
  ];

  before(async () => {
    await Promise.all([
      a.kernel.jobs.start(definitions('a'), a.kernel),
      b.kernel.jobs.start(definitions('b'), b.kernel),
    ]);
  });
  const runsOf = (id: string) => ran.filter(({ data }) => (data as { id: string }).id === id);
  const send = (name: string, id: string) => a.kernel.jobs.send(a.kernel.sql, name, { id });

  test('one sent in a transaction that commits runs, once; in one that rolls back never', async () => {
    const [kept, dropped] = [randomUUID(), randomUUID()];
    await assert.rejects(
      inTransaction(a.kernel.sql, async (tx) => {
        await a.kernel.jobs.send(tx, 'test.note', { id: dropped });
        throw new Error('rolled back');
      }),
    );
    await inTransaction(a.kernel.sql, (tx) => a.kernel.jobs.send(tx, 'test.note', { id: kept }));
    await until(() => runsOf(kept).length > 0);
    const rows = await a.kernel.sql`select 1 from pgboss.job where data->>'id' = ${dropped}`;
    assert.equal(rows.length, 0);
    assert.deepEqual([runsOf(kept).length, runsOf(dropped).length], [1, 0]);
  });

  test('one that fails is tried again', async () => {
    const id = randomUUID();
    await send('test.flaky', id);
    await until(() => runsOf(id).length === 1);
    assert.equal(failures, 2);
  });

  test('one that recurs is registered once over two gateways', async () => {
    const rows = await a.kernel.sql`select cron, timezone from pgboss.schedule where name = 'test.cron'`;
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ cron: '0 0 1 1 *', timezone: 'UTC' }],
    );
  });

  test('one that is queued under a singleton key is not queued twice, one that is delayed waits', async () => {
    const id = randomUUID();
    const later = { afterSeconds: 3_600, singletonKey: id };
    await a.kernel.jobs.send(a.kernel.sql, 'test.note', { id }, later);
    await a.kernel.jobs.send(a.kernel.sql, 'test.note', { id }, later);
    const rows = await a.kernel.sql`
      select 1 from pgboss.job where data->>'id' = ${id} and start_after > now() + interval '50 minutes'`;
    assert.equal(rows.length, 1);
    assert.equal(runsOf(id).length, 0);
  });

  test('a close lets a running job finish, and its result counts', async () => {
    await using own = await startGateway(database);
    await a.kernel.jobs.close();
    await b.kernel.jobs.close();
    await own.kernel.jobs.start(definitions('own'), own.kernel);
    hang = Promise.withResolvers<void>();
    const id = randomUUID();
    await own.kernel.jobs.send(own.kernel.sql, 'test.long', { id });
    await until(() => started === 1);
    const closing = own.kernel.jobs.close();
    hang.resolve();
    await closing;
    assert.equal(runsOf(id).length, 1);
    const [row] = await own.kernel.sql`select state from pgboss.job where data->>'id' = ${id}`;
    assert.equal(row?.['state'], 'completed');
    await own.close();
  });
});

describe('the sweep of the kernel', () => {
  test('forgets expired responses and past rate windows, and nothing else', async () => {
    await using t = await openTest();
    const { gateway } = t;
    const { sql } = gateway.kernel;
    const [account, id] = [randomUUID(), gateway.kernel.gateways.id];
    for (const [key, expires] of [
      ['old', '-1 second'],
      ['new', '1 hour'],
    ] as const) {
      await sql`insert into kernel.idempotency (account_id, route, key, request_hash, gateway_id, expires_at)
        values (${account}, 'x', ${key}, '', ${id}, now() + ${expires}::interval)`;
    }
    await sql`insert into kernel.rate_windows values ('x', 'old', now() - interval '6 minutes', 1, 1), ('x', 'new', now(), 1, 1)`;
    await sweepKernel.run(gateway.kernel, {});
    assert.deepEqual(
      (await sql`select key from kernel.idempotency`).map((row) => row['key']),
      ['new'],
    );
    assert.deepEqual(
      (await sql`select subject from kernel.rate_windows`).map((row) => row['subject']),
      ['new'],
    );
  });
});
