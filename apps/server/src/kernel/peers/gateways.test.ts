import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { shared } from '../../testing.shared.ts';
import { waitingFor } from '../../testing.locks.ts';
import {
  createAccount,
  http,
  openHost,
  openTest,
  startGateway,
  type TestDatabase,
  testDatabase,
  type TestGateway,
  until,
} from '../../testing.ts';
import { credentialsChanged } from '../mount/access.ts';
import { type Bus, openPostgresBus } from './bus.ts';
import { inTransaction } from '../db/db.ts';
import { bySystem } from '../records/audit.ts';
import { systemClock, testClock } from '../base/clock.ts';
import {
  openProxy,
  openTestBus,
  type Proxy,
  proxyDatabase,
  startNats,
  type TestNats,
  withoutNats,
} from '../testing.ts';
import { Gateways } from './gateways.ts';
import { createLog } from '../base/log.ts';
import type { KeyLookup } from '../../features/keys/keys.lookup.ts';
import { revokeKey } from '../../features/keys/keys.change.ts';
import { issueKey } from '../../features/keys/index.ts';
import { updateAccount } from '../../features/accounts/accounts.sql.ts';

const quiet = createLog('silent');
const status = async (gateway: TestGateway, key: string): Promise<number> =>
  (await http(gateway.url, '/v1/devices', { key })).status;

/** Uses the key until the gateway answers it from memory. */
async function warm(gateway: TestGateway, key: string): Promise<void> {
  await until(() => gateway.kernel.gateways.cachesAreTrusted());
  for (let i = 0; i < 3; i++) assert.equal(await status(gateway, key), 200);
}

/** A peer that announces and serves nobody, as an admin command is. */
async function joinAsCommand(gateway: TestGateway, database: TestDatabase) {
  const bus = await openPostgresBus(database.target, systemClock, quiet);
  const gateways = await Gateways.join({ sql: gateway.kernel.sql, bus, clock: systemClock, log: quiet, lease: false });
  return { gateways, close: () => bus.close() };
}

describe('gateways', () => {
  const { gateway: a, second: b, database } = shared(() => openTest({ gateways: 2 }));

  test('an announcement answers only after every live gateway has acted, its own first', async () => {
    const heard: string[] = [];
    const topic = `test.${randomUUID()}`;
    for (const [name, gateway] of Object.entries({ a, b })) {
      await gateway.kernel.gateways.onAnnounce(topic, (payload) => heard.push(`${name}:${String(payload)}`));
    }
    for (let i = 0; i < 20; i++) {
      await a.kernel.gateways.announce(topic, i);
      assert.deepEqual(heard.splice(0), [`a:${i}`, `b:${i}`]);
    }
  });

  test('an announcement of a command reaches every gateway', async () => {
    const heard: string[] = [];
    const topic = `test.${randomUUID()}`;
    for (const gateway of [a, b]) {
      await gateway.kernel.gateways.onAnnounce(topic, () => heard.push(gateway.kernel.gateways.id));
    }
    const command = await joinAsCommand(a, database);
    await command.gateways.announce(topic, null);
    assert.deepEqual(heard.sort(), [a.kernel.gateways.id, b.kernel.gateways.id].sort());
    assert.equal(command.gateways.cachesAreTrusted(), false);
    await command.close();
  });

  test('an announcement answers within about a second when a gateway with a lease is dead', async (t) => {
    const dead = randomUUID();
    const topic = `test.${randomUUID()}`;
    const clock = testClock();
    await using announcer = await startGateway(database, { clock });
    let heard = 0;
    await b.kernel.gateways.onAnnounce(topic, () => (heard += 1));
    await a.kernel.sql`insert into kernel.gateways (id, lease_until) values (${dead}, now() + interval '1 hour')`;
    t.after(() => a.kernel.sql`delete from kernel.gateways where id = ${dead}`);
    let isAnswered = false;
    const answer = announcer.kernel.gateways.announce(topic, null).then(() => {
      isAnswered = true;
    });
    await until(() => heard === 1);
    clock.advance(999);
    await status(announcer, 'no key');
    assert.equal(isAnswered, false);
    clock.advance(1);
    await answer;
    assert.equal(heard, 1);
  });

  test('an announcement answers within a second though the connection that carries it hangs', async () => {
    await using bus = await openTestBus(database);
    const topic = `test.${randomUUID()}`;
    const clock = testClock();
    const isHung = Promise.withResolvers<void>();
    const hanging: Bus = {
      ...bus,
      publish() {
        isHung.resolve();
        return new Promise(() => {});
      },
    };
    const resources = { sql: a.kernel.sql, bus: hanging, clock, log: quiet };
    const gateways = await Gateways.join({ ...resources, lease: false });
    const answer = gateways.announce(topic, null);
    await isHung.promise;
    clock.advance(1_000);
    await answer;
    const [row] = await a.kernel.sql`select missed from kernel.gateways where id = ${b.kernel.gateways.id}`;
    assert.equal(row?.['missed'], true, 'those who may not have heard of it learn that');
  });

  test('a lease that is renewed while its gateway closes does not come back', async () => {
    await using bus = await openTestBus(database);
    const clock = testClock();
    const { sql } = a.kernel;
    const gateways = await Gateways.join({ sql, bus, clock, log: quiet, lease: true });
    const leases = () => sql`select 1 from kernel.gateways where id = ${gateways.id}`;
    assert.equal((await leases()).length, 1);
    let closing: Promise<void> | undefined;
    await inTransaction(sql, async (tx) => {
      await tx`lock table kernel.gateways in exclusive mode`;
      clock.advance(2_000);
      await until(async () => (await waitingFor(tx, 'kernel.gateways')) > 0);
      closing = gateways.close();
    });
    await closing;
    assert.equal((await leases()).length, 0);
  });

  test('a handler that throws does not keep the announcer or the other handlers from going on', async () => {
    // Its time stands still: what waited for the end of a second would not answer.
    await using announcer = await startGateway(database, { clock: testClock() });
    const topic = `test.${randomUUID()}`;
    await b.kernel.bus.subscribe(topic, () => {
      throw new Error('on purpose');
    });
    let heard = 0;
    await a.kernel.gateways.onAnnounce(topic, () => {});
    await b.kernel.gateways.onAnnounce(topic, () => (heard += 1));
    await announcer.kernel.gateways.announce(topic, null);
    assert.equal(heard, 1);
  });

  test('each knows of the other from its start on, and forgets it once it left', async () => {
    await using own = await openTest();
    const first = own.gateway;
    assert.equal(first.kernel.gateways.hasPeers(), false);
    await using second = await startGateway(own.database);
    assert.ok(second.kernel.gateways.hasPeers(), 'the newer one');
    assert.ok(first.kernel.gateways.hasPeers(), 'the older one');
    assert.ok(await first.kernel.gateways.isLive(first.kernel.sql, second.kernel.gateways.id));
    await second.close();
    assert.equal(await first.kernel.gateways.isLive(first.kernel.sql, second.kernel.gateways.id), false);
    await until(() => !first.kernel.gateways.hasPeers());
  });

  test('caches are not trusted once the own echo stays out for 5 s, and again when it is back', async () => {
    const clock = testClock();
    const bus = await openPostgresBus(database.target, systemClock, quiet);
    let deaf = false;
    const partly = {
      ...bus,
      subscribe: (topic: string, handler: (payload: unknown) => void | Promise<void>) =>
        bus.subscribe(topic, (payload) => (deaf ? undefined : handler(payload))),
    };
    const gateways = await Gateways.join({ sql: a.kernel.sql, bus: partly, clock, log: quiet, lease: true });
    await until(() => gateways.cachesAreTrusted());
    deaf = true;
    clock.advance(4_999);
    assert.ok(gateways.cachesAreTrusted());
    clock.advance(1);
    assert.equal(gateways.cachesAreTrusted(), false);
    deaf = false;
    clock.advance(2_000);
    await until(() => gateways.cachesAreTrusted());
    await gateways.close();
    await bus.close();
  });
});

const buses = ['LISTEN/NOTIFY', 'NATS'] as const;
for (const busName of buses) {
  describe(`revocation over ${busName}`, { skip: busName === 'NATS' && withoutNats }, () => {
    const {
      gateway: a,
      second: b,
      account,
    } = shared(async () => {
      const nats = busName === 'NATS' ? await startNats() : undefined;
      const t = await openTest({ gateways: 2, ...(nats && { settings: { SVC_NATS_URL: nats.url } }) });
      return { ...t, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]().then(() => nats?.close()) };
    });
    const issue = (accountId = account.id) =>
      issueKey(a.kernel, a.kernel.sql, { accountId, name: 'short-lived', scopes: ['*'] });
    const change = (id: string, body: object) =>
      http(a.url, `/v1/keys/${id}`, { method: 'PATCH', key: account.key, body });

    test('a key revoked at one gateway is refused by the other on the very next request', async () => {
      for (let i = 0; i < 20; i++) {
        const { id, text } = await issue();
        await warm(b, text);
        const answer = await http(a.url, `/v1/keys/${id}`, { method: 'DELETE', key: account.key });
        assert.deepEqual(
          [answer.status, answer.body],
          [200, { deleted: true, id, children_revoked: 0, children_left: 0 }],
        );
        assert.deepEqual([await status(b, text), await status(a, text)], [401, 401]);
      }
    });

    test('a paused key is refused everywhere at once, and accepted everywhere once resumed', async () => {
      const { id, text } = await issue();
      for (let i = 0; i < 5; i++) {
        await warm(b, text);
        assert.equal((await change(id, { status: 'paused' })).status, 200);
        assert.deepEqual([await status(b, text), await status(a, text)], [401, 401]);
        assert.equal((await change(id, { status: 'active' })).status, 200);
        assert.deepEqual([await status(b, text), await status(a, text)], [200, 200]);
      }
    });

    test('scopes taken from a key at one gateway are refused by the other at once', async () => {
      const { id, text } = await issue();
      await warm(b, text);
      await change(id, { scopes: ['hosts'] });
      assert.equal(await status(b, text), 403);
    });

    test('a subscription that a command ends is answered with 402 on the next request, on every gateway', async () => {
      const customer = await createAccount(a);
      await warm(a, customer.key);
      await warm(b, customer.key);
      const set = async (subscription: 'active' | 'inactive'): Promise<void> => {
        await updateAccount(a.kernel.sql, customer.id, { subscription });
        await b.kernel.gateways.announce(credentialsChanged, { accountId: customer.id });
      };
      await set('inactive');
      assert.deepEqual([await status(a, customer.key), await status(b, customer.key)], [402, 402]);
      await set('active');
      assert.deepEqual([await status(a, customer.key), await status(b, customer.key)], [200, 200]);
    });

    test('a change of a key, or of an account, leaves the keys of others believed', async () => {
      const { lookup } = b.app.features.find(({ name }) => name === 'keys') as unknown as { lookup: KeyLookup };
      const stranger = await createAccount(a);
      const [changed, kept] = [await issue(), await issue()];
      for (const text of [changed.text, kept.text, stranger.key]) await warm(b, text);
      const isBelieved = (text: string) => !(lookup.authenticate(text) instanceof Promise);
      await change(changed.id, { scopes: ['hosts'] });
      assert.deepEqual([changed.text, kept.text, stranger.key].map(isBelieved), [false, true, true]);
      await warm(b, kept.text);
      await a.kernel.gateways.announce(credentialsChanged, { accountId: account.id });
      assert.deepEqual([kept.text, stranger.key].map(isBelieved), [false, true]);
    });

    test('the open stream of a revoked key ends, on whichever gateway it is; others stay', async () => {
      const { id, text } = await issue();
      const doomed = await openHost(b, { ...account, key: text });
      const spared = await openHost(b, account);
      let ended = false;
      void spared.ended.then(() => (ended = true));
      await http(a.url, `/v1/keys/${id}`, { method: 'DELETE', key: account.key });
      await doomed.ended;
      assert.equal(ended, false);
      spared.leave();
    });

    test('a look-up that races with a revocation never leaves a stale entry, in 200 rounds', async () => {
      const { lookup } = b.app.features.find(({ name }) => name === 'keys') as unknown as { lookup: KeyLookup };
      // Six lanes at once: each revocation also falls into the look-ups of the others.
      const rounds = Array.from({ length: 200 });
      await Promise.all(
        Array.from({ length: 6 }, async () => {
          while (rounds.pop() !== undefined || rounds.length > 0) {
            const { id, text } = await issue();
            const over = new AbortController();
            const load = (async () => {
              while (!over.signal.aborted) {
                await lookup.authenticate(text);
                // An answer from memory gives the event loop no turn.
                await nextTurn();
              }
            })();
            await revokeKey(a.kernel, id, false, { accountId: account.id, by: bySystem });
            const atOnce = await lookup.authenticate(text);
            over.abort();
            await load;
            assert.deepEqual([atOnce, await lookup.authenticate(text)], [undefined, undefined]);
          }
        }),
      );
    });
  });
}

describe('a gateway that is cut off from the bus', () => {
  const { database: plain, gateway: a, account } = shared(() => openTest());
  const issue = () => issueKey(a.kernel, a.kernel.sql, { accountId: account.id, name: 'k', scopes: ['*'] });
  const revoke = (id: string) => http(a.url, `/v1/keys/${id}`, { method: 'DELETE', key: account.key });

  async function listenerOf(gateway: TestGateway): Promise<number> {
    const topic = `%gateway.${gateway.kernel.gateways.id}%`;
    // The last LISTEN of a gateway differs; its connection is the one that listens to its own topic.
    const rows = await a.kernel.sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where datname = current_database() and query ilike 'listen%' and query not ilike ${topic}`;
    return rows.at(-1)?.pid ?? 0;
  }

  test('does not trust what it remembers: a key revoked meanwhile is refused at once', async () => {
    const before = await listenerOf(a);
    await using b = await startGateway(plain);
    const { id, text } = await issue();
    await warm(b, text);
    const rows = await a.kernel.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and query ilike 'listen%' and pid <> ${before}`;
    assert.equal(rows.length, 1);
    // Ended again and again for the test's duration, it cannot come back.
    const end = () => a.kernel.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query ilike 'listen%' and pid <> ${before}`;
    await end();
    await until(() => !b.kernel.bus.isUp());
    await revoke(id);
    assert.equal(await status(b, text), 401);
  });

  test('forgets what it knew when the bus is back: a key revoked meanwhile stays refused', async () => {
    await using proxied = await proxyDatabase(plain);
    const { database, proxy } = proxied;
    await using b = await startGateway(database);
    const { id, text } = await issue();
    await warm(b, text);
    await proxy.cut();
    await until(() => !b.kernel.bus.isUp());
    await revoke(id);
    await proxy.restore();
    await until(() => b.kernel.gateways.cachesAreTrusted());
    assert.equal(await status(b, text), 401);
  });

  test('ends the streams of keys revoked meanwhile when the bus is back', async () => {
    await using proxied = await proxyDatabase(plain);
    const { database, proxy } = proxied;
    await using b = await startGateway(database);
    const { id, text } = await issue();
    const host = await openHost(b, { ...account, key: text });
    await proxy.cut();
    await until(() => !b.kernel.bus.isUp());
    await revoke(id);
    await proxy.restore();
    await until(() => b.kernel.gateways.cachesAreTrusted());
    await host.ended;
  });

  describe('NATS', { skip: withoutNats }, () => {
    let nats: TestNats;
    let proxy: Proxy;
    before(async () => {
      nats = await startNats();
      proxy = await openProxy({ port: nats.port, host: '127.0.0.1' });
    });
    after(async () => {
      await proxy.close();
      await nats.close();
    });

    test('forgets what it knew when it is back at the NATS server', async () => {
      await using own = await testDatabase();
      await using near = await startGateway(own, { settings: { SVC_NATS_URL: nats.url } });
      await using far = await startGateway(own, { settings: { SVC_NATS_URL: `nats://127.0.0.1:${proxy.port}` } });
      const owner = await createAccount(near);
      const { id, text } = await issueKey(near.kernel, near.kernel.sql, {
        accountId: owner.id,
        name: 'k',
        scopes: ['*'],
      });
      await warm(far, text);
      await proxy.cut();
      await until(() => !far.kernel.bus.isUp());
      assert.equal((await http(near.url, `/v1/keys/${id}`, { method: 'DELETE', key: owner.key })).status, 200);
      assert.equal(await status(far, text), 401);
      await proxy.restore();
      await until(() => far.kernel.gateways.cachesAreTrusted());
      assert.equal(await status(far, text), 401);
    });
  });
});
