import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { createBatches } from './batches.ts';
import { testClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { createMetrics } from '../base/metrics.ts';
import { openTestPool } from '../testing.ts';
import { shared } from '../../testing.shared.ts';

describe('batches', () => {
  const { sql } = shared(async () => {
    const pool = await openTestPool(1);
    await pool.sql`create table public.numbers (n bigint not null, label text not null unique)`;
    return pool;
  });
  const opened = () => {
    let logged = '';
    const to = new PassThrough().setEncoding('utf8').on('data', (chunk: string) => (logged += chunk));
    const metrics = createMetrics();
    let before = (): Promise<void> => Promise.resolve();
    const batches = createBatches<{ n: number; label: string }>(
      { clock: testClock(), log: createLog('warn', to), metrics },
      {
        name: 'numbers',
        most: 100,
        atOnce: 50,
        async write(items) {
          await before();
          await sql`insert into public.numbers
            select * from unnest(${items.map(({ n }) => n)}::bigint[], ${items.map(({ label }) => label)}::text[])`;
        },
      },
    );
    return { batches, metrics, logged: () => logged, meanwhile: (work: () => Promise<void>) => (before = work) };
  };
  const labels = async () => {
    const rows = await sql<{ label: string }[]>`delete from public.numbers returning label`;
    return rows.map(({ label }) => label).sort();
  };

  test('a row that its table refuses holds back none of the others, is counted, and shows nothing of itself in the log', async () => {
    const { batches, metrics, logged } = opened();
    for (let n = 0; n < 40; n++) batches.add({ n: n === 7 ? 1e30 : n === 23 ? 14.5 : n, label: `secret-${n}` });
    batches.add({ n: 1, label: 'secret-3' });
    await batches.close();
    const kept = await labels();
    assert.equal(kept.length, 38);
    assert.ok(!kept.includes('secret-7') && !kept.includes('secret-23'));
    const counted = await metrics.registry.getSingleMetricAsString('svc_batch_items_dropped_total');
    assert.match(counted, /\{batch="numbers"\} 3/);
    assert.match(logged(), /is dropped/);
    assert.doesNotMatch(logged(), /secret|1e\+?30/);
  });

  test('a database that goes away in the middle of a split gets each row once when it is back', async () => {
    const { batches, meanwhile } = opened();
    for (let n = 0; n < 8; n++) batches.add({ n: n === 6 ? 1e30 : n, label: `row-${n}` });
    let writes = 0;
    meanwhile(() => (++writes === 3 ? Promise.reject(new Error('away')) : Promise.resolve()));
    await batches.flush();
    await batches.close();
    assert.deepEqual(await labels(), ['row-0', 'row-1', 'row-2', 'row-3', 'row-4', 'row-5', 'row-7']);
  });
});
