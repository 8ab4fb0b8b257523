import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { until } from '../../testing.ts';
import { type Act, bySystem, createAuditRecorder, retireActs, writeAct } from './audit.ts';
import { testClock } from '../base/clock.ts';
import { inTransaction, openDatabase } from '../db/db.ts';
import { createLog } from '../base/log.ts';
import { openTestPool, proxyDatabase } from '../testing.ts';

const quiet = createLog('silent');

describe('the audit log', () => {
  const { database, sql } = shared(() => openTestPool(4));
  const act = (subject: string, change: Partial<Act> = {}): Act => ({
    accountId: randomUUID(),
    by: { kind: 'key', keyId: randomUUID(), address: '192.0.2.7', traceId: 'trace' },
    action: 'test.run',
    subject,
    ...change,
  });
  interface Details {
    further?: number;
    truncated?: boolean;
    name?: string;
    paths?: string[];
  }
  const linesOf = (subject: string) =>
    sql<{ at: string; action: string; details: Details }[]>`
      select at, action, details from kernel.audit where subject = ${subject} order by id`;
  const further = async (subject: string): Promise<number[]> =>
    (await linesOf(subject)).map(({ details }) => details.further ?? 0);

  test('has a line exactly when its act was committed', async () => {
    const [kept, gone] = [randomUUID(), randomUUID()];
    await inTransaction(sql, (tx) => writeAct(tx, act(kept, { details: { a: 1 } })));
    await assert.rejects(
      inTransaction(sql, async (tx) => {
        await writeAct(tx, act(gone));
        throw new Error('no');
      }),
    );
    assert.deepEqual(
      (await linesOf(kept)).map(({ details }) => details),
      [{ a: 1 }],
    );
    assert.deepEqual([...(await linesOf(gone))], []);
  });

  test('takes details of any length and any characters, and keeps 2 KiB of them', async () => {
    const recorder = createAuditRecorder(sql, testClock(), quiet);
    const odd = { text: 'a\0b\ud800c"\\', deep: [{ x: '\0' }] };
    const long = { name: 'n'.repeat(5_000), paths: Array.from({ length: 900 }, (_, i) => `p${i}`) };
    const deep = { all: Array.from({ length: 10 }, () => Array.from({ length: 10 }, () => 'x'.repeat(300))) };
    for (const write of [
      (details: object, subject: string) => writeAct(sql, act(subject, { details })),
      async (details: object, subject: string) => {
        recorder.record(act(subject, { details }));
        await recorder.flush();
      },
    ]) {
      const subjects = [randomUUID(), randomUUID(), randomUUID()];
      for (const [index, details] of [odd, long, deep].entries()) await write(details, subjects[index] as string);
      const [first, second, third] = await Promise.all(subjects.map(async (subject) => (await linesOf(subject))[0]));
      assert.deepEqual(first?.details, { text: 'a\ufffdb\ufffdc"\\', deep: [{ x: '\ufffd' }] });
      assert.deepEqual([second?.details.truncated, second?.details.name?.length], [true, 300]);
      assert.deepEqual(second?.details.paths?.slice(-2), ['p9', 'and 890 more']);
      assert.deepEqual(third?.details, { truncated: true });
    }
    await recorder.close();
  });

  test('nothing changes or deletes a line but its retention, which spares the younger', async () => {
    const subject = randomUUID();
    await writeAct(sql, act(subject));
    const old = await sql<{ id: number }[]>`
      insert into kernel.audit (at, who, action, subject) values (now() - interval '401 days', 'system', 'old', ${subject})
      returning id`;
    for (const change of [
      `update kernel.audit set action = 'x'`,
      `delete from kernel.audit`,
      `truncate kernel.audit`,
      `insert into kernel.audit (id, who, action) overriding system value values (${old[0]?.id}, 'system', 'x')
        on conflict (id) do update set action = 'x'`,
    ]) {
      await assert.rejects(sql.unsafe(change), /append-only/, change);
    }
    await retireActs(sql, new Date(Date.now() - 400 * 86_400_000).toISOString());
    assert.deepEqual(
      (await linesOf(subject)).map(({ action }) => action),
      ['test.run'],
    );
    await assert.rejects(sql`delete from kernel.audit`, /append-only/, 'the retention leaves no door open');
  });

  test('lines without a transaction are written every half second, at the instant of their acts, and by a close', async () => {
    const clock = testClock();
    const recorder = createAuditRecorder(sql, clock, quiet);
    const subject = randomUUID();
    recorder.record(act(subject));
    clock.advance(499);
    assert.equal((await linesOf(subject)).length, 0);
    clock.advance(1);
    await until(async () => (await linesOf(subject)).length === 1);
    const last = randomUUID();
    recorder.record(act(last));
    clock.advance(400);
    await recorder.close();
    const [line] = await sql<{ ms: number }[]>`
      select extract(epoch from now() - at) * 1000 as ms from kernel.audit where subject = ${last}`;
    assert.ok(Number(line?.ms) >= 400);
  });

  test('of a burst of equal acts 20 have a line, and the last says how many more there were; others have theirs', async () => {
    const recorder = createAuditRecorder(sql, testClock(), quiet);
    const subject = randomUUID();
    const same = act(subject, { details: { op: 'shell', outcome: 'ok' } });
    for (let i = 0; i < 5_000; i++) recorder.record(same);
    recorder.record({ ...same, details: { op: 'shell', outcome: 'failed' } });
    await recorder.flush();
    assert.deepEqual(await further(subject), [...Array.from({ length: 19 }, () => 0), 4_980, 0]);
    recorder.record(same);
    await recorder.close();
    assert.deepEqual((await further(subject)).at(-1), 0);
  });

  test('lines outlive a database that is away; those that there was no room for are counted', async (t) => {
    const behind = await proxyDatabase(database);
    const pool = openDatabase(behind.database.target, 1);
    t.after(() => pool.end({ timeout: 1 }).then(() => behind.proxy.close()));
    const clock = testClock();
    const recorder = createAuditRecorder(pool, clock, quiet);
    await recorder.flush();
    await behind.proxy.cut();
    const subject = randomUUID();
    const accountId = randomUUID();
    for (let i = 0; i < 100_007; i++) {
      recorder.record(act(subject, { accountId, by: bySystem, details: { op: String(i), outcome: 'ok' } }));
    }
    await recorder.flush();
    await behind.proxy.restore();
    const count = async () =>
      (await sql<{ n: number }[]>`select count(*)::int as n from kernel.audit where account_id = ${accountId}`)[0]?.n;
    await until(async () => {
      clock.advance(500);
      return (await count()) === 100_000;
    });
    await recorder.close();
    const lost = await sql<{ details: object }[]>`select details from kernel.audit where action = 'audit.lost'`;
    assert.deepEqual([...lost], [{ details: { count: 7 } }]);
  });
});
