import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type TestDatabase, testDatabase, until } from '../../testing.ts';
import { type Bus, openPostgresBus } from './bus.ts';
import { openNatsBus } from './bus.nats.ts';
import { systemClock } from '../clock.ts';
import { inTransaction, openDatabase, type Sql } from '../db/db.ts';
import { openProxy, proxyDatabase, startNats, type TestNats, withoutNats } from '../testing.ts';
import { createLog } from '../log.ts';

const quiet = createLog('silent');

/** Subscribes and answers what came, and a promise of the next message. */
async function listen(bus: Bus, topic: string) {
  const heard: unknown[] = [];
  const stop = await bus.subscribe(topic, (payload) => void heard.push(payload));
  return { heard, stop };
}

for (const kind of ['LISTEN/NOTIFY', 'NATS'] as const) {
  describe(`bus over ${kind}`, { skip: kind === 'NATS' && withoutNats }, () => {
    let database: TestDatabase;
    let nats: TestNats | undefined;
    let sql: Sql;
    let a: Bus;
    let b: Bus;

    const open = (): Promise<Bus> =>
      nats ? openNatsBus(nats.url, quiet) : openPostgresBus(database.target, systemClock, quiet);
    before(async () => {
      database = await testDatabase();
      sql = openDatabase(database.target, 3);
      if (kind === 'NATS') nats = await startNats();
      [a, b] = [await open(), await open()];
    });
    after(async () => {
      await a.close();
      await b.close();
      await sql.end({ timeout: 1 });
      await nats?.close();
      await database.drop();
    });
    /** Passes a marker behind all that was published before: what has not come by then never will. */
    async function settle(bus: Bus): Promise<void> {
      const topic = `settle.${randomUUID()}`;
      const markers = await listen(bus, topic);
      await a.publish(sql, topic, 'marker');
      await until(() => markers.heard.length > 0);
      markers.stop();
    }

    test('what a transaction publishes is heard once it commits, by every subscriber of every process', async () => {
      const topic = `t.${randomUUID()}`;
      const all = [await listen(a, topic), await listen(a, topic), await listen(b, topic)];
      await inTransaction(sql, async (tx) => {
        await a.publish(tx, topic, { n: 1 });
        await settle(b);
        assert.deepEqual(
          all.map(({ heard }) => heard),
          [[], [], []],
          'not before the commit',
        );
      });
      await until(() => all.every(({ heard }) => heard.length === 1));
      await settle(b);
      assert.deepEqual(
        all.map(({ heard }) => heard),
        [[{ n: 1 }], [{ n: 1 }], [{ n: 1 }]],
      );
    });

    test('what a transaction that rolls back published is never heard', async () => {
      const topic = `t.${randomUUID()}`;
      const { heard } = await listen(b, topic);
      await assert.rejects(
        inTransaction(sql, async (tx) => {
          await a.publish(tx, topic, 'never');
          throw new Error('rolled back');
        }),
        /rolled back/,
      );
      await settle(b);
      assert.deepEqual(heard, []);
    });

    test('messages of one publisher come in their order, with every kind of payload intact', async () => {
      const topic = `t.${randomUUID()}`;
      const { heard } = await listen(b, topic);
      const payloads = [
        null,
        0,
        '',
        'ș 𝕏 " \\ \n \' ;',
        [],
        { a: { b: [1, 2, { c: null }] } },
        true,
        'x'.repeat(7_000),
      ];
      for (const payload of payloads) await a.publish(sql, topic, payload);
      await until(() => heard.length === payloads.length);
      assert.deepEqual(heard, payloads);
    });

    test('topics do not mix, quotes and spaces in them included; an ended subscription hears nothing more', async () => {
      const topic = `odd."topic".${randomUUID()}`.replaceAll('"', kind === 'NATS' ? '-' : '"');
      const one = await listen(b, topic);
      const other = await listen(b, `${topic}.more`);
      await a.publish(sql, topic, 1);
      await until(() => one.heard.length === 1);
      one.stop();
      await a.publish(sql, topic, 2);
      await settle(b);
      assert.deepEqual([one.heard, other.heard], [[1], []]);
    });

    test('a topic left and subscribed again is heard once a message', async () => {
      const topic = `t.${randomUUID()}`;
      (await listen(b, topic)).stop();
      const { heard } = await listen(b, topic);
      await a.publish(sql, topic, 1);
      await settle(b);
      await until(() => heard.length > 0);
      assert.deepEqual(heard, [1]);
    });

    test('a handler that throws harms no other', async () => {
      const topic = `t.${randomUUID()}`;
      await b.subscribe(topic, () => Promise.reject(new Error('on purpose')));
      await b.subscribe(topic, () => {
        throw new Error('on purpose');
      });
      const { heard } = await listen(b, topic);
      await a.publish(sql, topic, 1);
      await until(() => heard.length === 1);
    });
  });
}

describe('bus over LISTEN/NOTIFY after a loss', () => {
  let plain: TestDatabase;
  let sql: Sql;
  before(async () => {
    plain = await testDatabase();
    sql = openDatabase(plain.target, 2);
  });
  after(async () => {
    await sql.end({ timeout: 1 });
    await plain.drop();
  });

  test('is down at once when its connection is ended, then listens to every topic again', async (t) => {
    const bus = await openPostgresBus(plain.target, systemClock, quiet);
    t.after(() => bus.close());
    const topics = Array.from({ length: 5 }, () => `t.${randomUUID()}`);
    const all: { heard: unknown[] }[] = [];
    for (const topic of topics) all.push(await listen(bus, topic));
    for (let round = 1; round <= 3; round++) {
      assert.ok(bus.isUp());
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query ilike 'listen%'`;
      await until(() => !bus.isUp());
      await until(() => bus.isUp());
      for (const topic of topics) await bus.publish(sql, topic, round);
      await until(() => all.every(({ heard }) => heard.length === round));
    }
  });

  test('survives a server that cannot be reached for a while, and hears topics subscribed meanwhile', async (t) => {
    const { database, proxy } = await proxyDatabase(plain);
    const bus = await openPostgresBus(database.target, systemClock, quiet);
    t.after(() => bus.close().then(() => proxy.close()));
    const topic = `t.${randomUUID()}`;
    const early = await listen(bus, topic);
    await proxy.cut();
    await until(() => !bus.isUp());
    const late = `t.${randomUUID()}`;
    const meanwhile = listen(bus, late).catch(() => undefined);
    await new Promise((resolve) => systemClock.after(700, () => resolve(undefined)));
    assert.equal(bus.isUp(), false);
    await proxy.restore();
    await until(() => bus.isUp());
    await meanwhile;
    await bus.publish(sql, topic, 1);
    await until(() => early.heard.length === 1);
    const again = await listen(bus, late);
    await bus.publish(sql, late, 2);
    await until(() => again.heard.length === 1);
  });

  test('a message that is lost after its commit: every process hears that it may miss some', async (t) => {
    const { database, proxy } = await proxyDatabase(plain);
    const [bus, other] = await Promise.all([
      openPostgresBus(database.target, systemClock, quiet),
      openPostgresBus(plain.target, systemClock, quiet),
    ]);
    t.after(() => Promise.all([bus.close(), other.close()]).then(() => proxy.close()));
    let missed = 0;
    other.onRestored(() => {
      missed += 1;
    });
    await inTransaction(sql, async (tx) => {
      await bus.publish(tx, `t.${randomUUID()}`, 1);
      await proxy.cut();
    });
    assert.equal(missed, 0);
    await proxy.restore();
    await until(() => missed === 1);
  });

  test('a publisher whose connection hangs holds up no commit for long, is replaced, and every process hears of it', async (t) => {
    const { database, proxy } = await proxyDatabase(plain);
    const [bus, other] = await Promise.all([
      openPostgresBus(database.target, systemClock, quiet),
      openPostgresBus(plain.target, systemClock, quiet),
    ]);
    t.after(() => Promise.all([bus.close(), other.close()]).then(() => proxy.close()));
    let missed = 0;
    other.onRestored(() => {
      missed += 1;
    });
    const topic = `t.${randomUUID()}`;
    const { heard } = await listen(other, topic);
    await bus.publish(sql, topic, 'before');
    await until(() => heard.length === 1);
    proxy.freeze();
    // Answered though nothing comes back.
    await inTransaction(sql, (tx) => bus.publish(tx, topic, 'hangs'));
    await proxy.restore();
    await until(() => missed > 0);
    await until(async () => {
      await bus.publish(sql, topic, 'after').catch(() => {});
      return heard.includes('after');
    });
  });

  test('messages that come while one is sent share the next statement, in their order and none as one', async (t) => {
    const bus = await openPostgresBus(plain.target, systemClock, quiet);
    t.after(() => bus.close());
    const topic = `t.${randomUUID()}`;
    const { heard } = await listen(bus, topic);
    const sent = Array.from({ length: 500 }, (_, i) => (i % 7 === 0 ? 'same' : i));
    await Promise.all(sent.map((payload) => bus.publish(sql, topic, payload)));
    await until(() => heard.length === sent.length);
    assert.deepEqual(heard, sent);
  });
});

describe('bus over NATS after a loss', { skip: withoutNats }, () => {
  let database: TestDatabase;
  let sql: Sql;
  let nats: TestNats;
  before(async () => {
    database = await testDatabase();
    sql = openDatabase(database.target, 1);
    nats = await startNats();
  });
  after(async () => {
    await nats.close();
    await sql.end({ timeout: 1 });
    await database.drop();
  });

  test('is down when the server is killed, up when it is back, and messages flow again', async (t) => {
    const bus = await openNatsBus(nats.url, quiet);
    t.after(() => bus.close());
    const topic = `t.${randomUUID()}`;
    const { heard } = await listen(bus, topic);
    await nats.kill();
    await until(() => !bus.isUp());
    const late = `t.${randomUUID()}`;
    const meanwhile = await listen(bus, late);
    await nats.start();
    await until(() => bus.isUp());
    await bus.publish(sql, topic, 1);
    await bus.publish(sql, late, 2);
    await until(() => heard.includes(1) && meanwhile.heard.includes(2));
  });

  test('closes while its server is away', async () => {
    const proxy = await openProxy({ port: nats.port, host: '127.0.0.1' });
    const bus = await openNatsBus(`nats://127.0.0.1:${proxy.port}`, quiet);
    await proxy.cut();
    await until(() => !bus.isUp());
    await bus.close();
    assert.equal(bus.isUp(), false);
    await proxy.close();
  });
});
