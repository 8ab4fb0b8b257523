import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { startGateway, type TestDatabase, type TestGateway, testDatabase, until } from '../testing.ts';
import { inTransaction } from './db.ts';
import type { JobDefinition } from './jobs.ts';

describe('jobs over two gateways', () => {
  let database: TestDatabase;
  let gateways: TestGateway[];
  const ran: string[] = [];
  const failing = new Map<string, number>();

  const work: JobDefinition = {
    name: 'test.work',
    run: async (_kernel, data) => {
      const { id } = data as { id: string };
      const failures = failing.get(id) ?? 0;
      if (failures > 0) {
        failing.set(id, failures - 1);
        throw new Error('not yet');
      }
      ran.push(id);
    },
  };
  const often: JobDefinition = { name: 'test.often', cron: '* * * * *', run: () => Promise.resolve() };

  before(async () => {
    database = await testDatabase();
    gateways = [await startGateway(database), await startGateway(database)];
    for (const { kernel } of gateways) await kernel.jobs.start([work, often], kernel);
  });
  after(async () => {
    for (const gateway of gateways) await gateway.close();
    await database.drop();
  });
  const kernelOf = (i: number) => (gateways[i] as TestGateway).kernel;

  test('a job of a committed transaction runs once; one that was rolled back never', async () => {
    const { sql, jobs } = kernelOf(0);
    const [kept, dropped] = [randomUUID(), randomUUID()];
    await inTransaction(sql, (tx) => jobs.send(tx, 'test.work', { id: kept }));
    await assert.rejects(
      inTransaction(sql, async (tx) => {
        await jobs.send(tx, 'test.work', { id: dropped });
        throw new Error('changed my mind');
      }),
      /changed my mind/,
    );
    const last = randomUUID();
    await jobs.send(sql, 'test.work', { id: last });
    await until(() => ran.includes(kept) && ran.includes(last));
    assert.equal(ran.filter((id) => id === kept).length, 1);
    assert.ok(!ran.includes(dropped));
  });

  test('a job that fails is tried again', async () => {
    const id = randomUUID();
    failing.set(id, 1);
    await kernelOf(1).jobs.send(kernelOf(1).sql, 'test.work', { id });
    await until(() => ran.includes(id), 20_000);
    assert.equal(failing.get(id), 0);
  });

  test('a recurring job has one schedule, however many gateways register it', async () => {
    const rows = await kernelOf(0).sql`select name from pgboss.schedule where name = 'test.often'`;
    assert.equal(rows.length, 1);
  });
});
