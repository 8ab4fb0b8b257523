import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { until } from '../../testing.ts';
import { type Bus } from './bus.ts';
import { openNatsBus } from './bus.nats.ts';
import { systemClock, testClock } from '../base/clock.ts';
import { inTransaction } from '../db/db.ts';
import { openProxy, openTestBus, openTestPool, proxyDatabase, startNats, withoutNats } from '../testing.ts';
import { createLog } from '../base/log.ts';
import { shared } from '../../testing.shared.ts';

const quiet = createLog('silent');

async function openTestNatsBus(url: string): Promise<Bus & AsyncDisposable> {
  const bus = await openNatsBus(url, quiet);
  return { ...bus, [Symbol.asyncDispose]: () => bus.close() };
}

/** Subscribes and answers what came, and a promise of the next message. */
async function listen(bus: Bus, topic: string) {
  const heard: unknown[] = [];
  const stop = await bus.subscribe(topic, (payload) => void heard.push(payload));
  return { heard, stop };
}

for (const kind of ['LISTEN/NOTIFY', 'NATS'] as const) {
  describe(`bus over ${kind}`, { skip: kind === 'NATS' && withoutNats }, () => {
    const { sql, a, b } = shared(async () => {
      await using opening = new AsyncDisposableStack();
      const pool = opening.use(await openTestPool(3));
      const url = kind === 'NATS' ? opening.use(await startNats()).url : undefined;
      const open = async () =>
        opening.use(await (url === undefined ? openTestBus(pool.database) : openTestNatsBus(url)));
      const buses = { a: await open(), b: await open() };
      const stack = opening.move();
      return { sql: pool.sql, ...buses, [Symbol.asyncDispose]: () => stack.disposeAsync() };
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
  const { database: plain, sql } = shared(() => openTestPool(2));

  /** A bus behind a proxy, another that is not, and how often the other was told that it may have missed something. */
  async function openTwo() {
    await using opening = new AsyncDisposableStack();
    const { database, proxy } = opening.use(await proxyDatabase(plain));
    const [bus, other] = [opening.use(await openTestBus(database)), opening.use(await openTestBus(plain))];
    let count = 0;
    other.onRestored(() => {
      count += 1;
    });
    const stack = opening.move();
    return { bus, other, proxy, missed: () => count, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test('is down at once when its connection is ended, then listens to every topic again', async () => {
    await using bus = await openTestBus(plain);
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

  test('survives a server that cannot be reached for a while, and hears topics subscribed meanwhile', async () => {
    await using proxied = await proxyDatabase(plain);
    const { proxy } = proxied;
    await using bus = await openTestBus(proxied.database);
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

  test('a message that is lost after its commit: every process hears that it may miss some', async () => {
    await using between = await openTwo();
    const { bus, proxy, missed } = between;
    await inTransaction(sql, async (tx) => {
      await bus.publish(tx, `t.${randomUUID()}`, 1);
      await proxy.cut();
    });
    assert.equal(missed(), 0);
    await proxy.restore();
    await until(() => missed() === 1);
  });

  test('a publisher whose connection hangs holds up no commit for long, is replaced, and every process hears of it', async () => {
    await using between = await openTwo();
    const { bus, other, proxy, missed } = between;
    const topic = `t.${randomUUID()}`;
    const { heard } = await listen(other, topic);
    await bus.publish(sql, topic, 'before');
    await until(() => heard.length === 1);
    proxy.freeze();
    // Answered though nothing comes back.
    await inTransaction(sql, (tx) => bus.publish(tx, topic, 'hangs'));
    await proxy.restore();
    await until(() => missed() > 0);
    await until(async () => {
      await bus.publish(sql, topic, 'after').catch(() => {});
      return heard.includes('after');
    });
  });

  test('a listener whose server says nothing any more is replaced, and every handler hears that it may miss some', async () => {
    await using proxied = await proxyDatabase(plain);
    const clock = testClock();
    await using bus = await openTestBus(proxied.database, clock);
    let missed = 0;
    bus.onRestored(() => {
      missed += 1;
    });
    const topic = `t.${randomUUID()}`;
    const { heard } = await listen(bus, topic);
    proxied.proxy.freeze();
    clock.advance(5_000);
    await until(() => !bus.isUp());
    await proxied.proxy.restore();
    await until(() => {
      clock.advance(200);
      return bus.isUp();
    });
    assert.equal(missed, 1);
    await using other = await openTestBus(plain);
    await other.publish(sql, topic, 'after');
    await until(() => heard.includes('after'));
  });

  test('messages that come while one is sent share the next statement, in their order and none as one', async () => {
    await using bus = await openTestBus(plain);
    const topic = `t.${randomUUID()}`;
    const { heard } = await listen(bus, topic);
    const sent = Array.from({ length: 500 }, (_, i) => (i % 7 === 0 ? 'same' : i));
    await Promise.all(sent.map((payload) => bus.publish(sql, topic, payload)));
    await until(() => heard.length === sent.length);
    assert.deepEqual(heard, sent);
  });
});

describe('bus over NATS after a loss', { skip: withoutNats }, () => {
  const { sql, nats } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const { sql: pool } = opening.use(await openTestPool(1));
    const server = opening.use(await startNats());
    const stack = opening.move();
    return { sql: pool, nats: server, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  test('is down when the server is killed, up when it is back, and messages flow again', async () => {
    await using bus = await openTestNatsBus(nats.url);
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
    await using proxy = await openProxy({ port: nats.port, host: '127.0.0.1' });
    const bus = await openNatsBus(`nats://127.0.0.1:${proxy.port}`, quiet);
    await proxy.cut();
    await until(() => !bus.isUp());
    await bus.close();
    assert.equal(bus.isUp(), false);
  });
});
