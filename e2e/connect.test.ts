import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { freePort, type PlayedBrowser, person } from '../apps/server/src/features/auth/auth.testing.ts';
import { randomOf, suiteSeed } from '../apps/server/src/testing.random.ts';
import { type TurnedTime, turnedTime } from '../apps/server/src/testing.time.ts';
import { type TrustedCertificate, trustCertificate } from '../apps/server/src/testing.tls.ts';
import { http, openTest, startGateway, type TestGateway } from '../apps/server/src/testing.ts';
import { connectingClients } from './connect/clients.ts';
import { Machine, network } from './connect/machine.ts';

const day = 86_400;

describe('clients of the tools that a person let in once', () => {
  let time: TurnedTime;
  let first: Awaited<ReturnType<typeof openTest>>;
  let second: TestGateway;
  let startSecond: () => Promise<TestGateway>;
  let ways: ReturnType<typeof network>;
  let server: Server;
  let certificate: TrustedCertificate;
  let who: { id: string; key: string; browser: PlayedBrowser };
  let base = '';
  const published = new Map<string, object>();
  const machines: Machine[] = [];
  const random = randomOf(suiteSeed);
  let asked = 0;
  /** The part of answers that never arrive. */
  let lost = 0;

  before(async () => {
    time = await turnedTime();
    certificate = trustCertificate();
    const [own, other, documents] = [await freePort(), await freePort(), await freePort()];
    base = `http://localhost:${own}`;
    const settings = {
      SVC_BASE_URL: base,
      SVC_FETCH_PORTS: `443,${documents}`,
      SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
      SVC_TRUSTED_PROXIES: '127.0.0.1',
    };
    first = await openTest({ database: time.database, settings: { ...settings, SVC_PORT: String(own) } });
    startSecond = () => startGateway(time.database, { settings: { ...settings, SVC_PORT: String(other) } });
    second = await startSecond();
    server = createServer({ key: certificate.key, cert: certificate.cert }, ({ url = '' }, response) => {
      const body = published.get(url);
      response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}));
    });
    await once(server.listen(documents, '127.0.0.1'), 'listening');
    ways = network(
      base,
      () => ((asked += 1) % 2 === 0 ? own : other),
      () => random() < lost,
    );
    const at = { network: ways, documents: `https://127.0.0.1:${documents}` };
    for (const client of connectingClients) {
      const machine = new Machine(client, at);
      for (const [path, body] of machine.published()) published.set(path, body);
      machines.push(machine);
    }
    who = await person(first, `${base}/auth`);
  });
  after(async () => {
    ways?.[Symbol.dispose]();
    server?.closeAllConnections();
    server?.close();
    await second?.close();
    await first?.[Symbol.asyncDispose]();
    certificate?.[Symbol.dispose]();
    await time?.[Symbol.asyncDispose]();
  });

  /** The leases of both gateways are turned over too: one without a lease is waited for by nobody who announces something. */
  async function turn(seconds: number): Promise<void> {
    await time.turn(seconds);
    for (const { kernel } of [first.gateway, second]) await kernel.gateways.renew();
  }

  /** All of its sessions start; some go on at once, the others a minute later, with what they read at their start. */
  async function useAll(about: string): Promise<void> {
    for (const machine of machines) machine.begin();
    for (const sessions of [
      [0, 1, 2],
      [3, 4],
    ]) {
      const met = await Promise.all(machines.map((one) => one.use(sessions)));
      for (const [n, statuses] of met.entries())
        assert.deepEqual(new Set(statuses), new Set([200]), `${machines[n]?.client.name}, ${about}`);
      await turn(10);
    }
  }

  test('connect with the address of the tools alone, each in its own way, while answers are lost', async () => {
    lost = 0.2;
    for (const machine of machines) await machine.connect(who.browser);
    lost = 0;
    await useAll('at once');
    for (const { client, signIns } of machines) assert.equal(signIns, client.store === 'shared' ? 1 : 5, client.name);
  });

  test('go on for 90 days in five sessions each over two gateways, answers lost, without another sign-in', async () => {
    const before = machines.map(({ signIns }) => signIns);
    lost = 0.2;
    for (let days = 5; days <= 90; days += 5) {
      await turn(5 * day);
      // One that goes and comes again, as at an update.
      if (days % 30 === 15) {
        await second.close();
        second = await startSecond();
      }
      await useAll(`day ${days}`);
    }
    assert.deepEqual(
      machines.map(({ signIns }) => signIns),
      before,
    );
    for (const { client, refreshes } of machines) assert.ok(refreshes >= 18, `${client.name} ${refreshes}`);
  });

  const machineOf = (name: string) => machines.find(({ client }) => client.name === name) as Machine;

  test('lose everything when a token of theirs is stolen and used, whoever comes second', async () => {
    lost = 0;
    for (const [name, isThiefFirst] of [
      ['Cursor', true],
      ['Cline', false],
    ] as const) {
      const machine = machineOf(name);
      machine.begin();
      const { refresh } = machine.stores[0] ?? assert.fail(name);
      const thief = isThiefFirst ? await machine.refreshWith(refresh) : undefined;
      await turn(4_000);
      assert.deepEqual(await machine.use([0]), [isThiefFirst ? 401 : 200]);
      await turn(200);
      assert.equal(await machine.refreshWith(thief?.refresh ?? refresh), undefined, name);
      machine.begin();
      assert.deepEqual(await machine.use([0]), [401], name);
      assert.deepEqual(await machine.use([1, 2, 3, 4]), [200, 200, 200, 200], 'other sign-ins of it go on');
    }
  });

  test('meet 401 on both gateways once the person disconnects them', async () => {
    const machine = machineOf('Claude Code');
    machine.begin();
    assert.deepEqual(await machine.use([0]), [200]);
    const { access, refresh } = machine.stores[0] ?? assert.fail();
    const { connections } = (await http(base, '/v1/connections', { key: who.key })).body;
    const { id } =
      (connections as { id: string; client_id: string }[]).find((one) => one.client_id === machine.id) ?? {};
    assert.equal((await http(base, `/v1/connections/${id}`, { method: 'DELETE', key: who.key })).status, 200);
    assert.deepEqual([await machine.list(access), await machine.list(access)], [401, 401]);
    assert.equal(await machine.refreshWith(refresh), undefined);
  });

  test('are asked again after 91 days without a use, and two years after consent at the latest', async () => {
    lost = 0;
    const [idle, busy] = [machineOf('Zed'), machineOf('Codex')];
    for (let days = 135; days <= 720; days += 45) {
      await turn(45 * day);
      busy.begin();
      assert.deepEqual(await busy.use([0, 1]), [200, 200], `day ${days}`);
      if (days !== 225) continue;
      idle.begin();
      assert.deepEqual(await idle.use([0]), [401]);
    }
    await turn(45 * day);
    busy.begin();
    assert.deepEqual(await busy.use([0]), [401]);
  });
});
