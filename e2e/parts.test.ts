import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type Client } from '@svc/sdk';
import { startNats, type TestNats, withoutNats } from '../apps/server/src/kernel/testing.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { http, until } from '../apps/server/src/testing.ts';
import { debianDatabase, type ForeignDatabase } from './parts.database.ts';
import { freePort, killAll, layCluster, type Running, run, start, temporaryFolder } from './platform.ts';
import { ownSandboxes, withoutSandboxes } from './sandboxes.ts';

const answers = (url: string): Promise<number> =>
  fetch(url).then(
    ({ status }) => status,
    () => 0,
  );

/** A gateway that says how it does. */
interface Gateway {
  url: string;
  probes: number;
  running: Running;
}

const isLinuxRoot = process.platform === 'linux' && process.getuid?.() === 0;
const root = join(import.meta.dirname, '..');
/** Looks once a second for what takes 40 s to be told: each look is some requests. */
const untilTold = (isTold: () => Promise<boolean>): Promise<void> =>
  until(async () => (await isTold()) || (await delay(1_000, false)));

describe('parts of the platform as processes of their own', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'one');
  let nats: TestNats | undefined;
  let settings: Record<string, string>;
  let first: Gateway;
  let second: Gateway | undefined;
  let key: string;
  let client: Client;
  let worker: Running;
  let workerSettings: Record<string, string>;
  let relay: Running;
  let relaySettings: Record<string, string>;
  let door: Server | undefined;
  /** As on a server of its own: with the oldest Postgres that is supported, where Debian's is installed. */
  let database: ForeignDatabase | undefined;

  before(async () => {
    database = await debianDatabase(join(folder.path, 'postgres'));
    if (!database) layCluster(dataDir);
    if (withoutNats === false) nats = await startNats();
    const port = await freePort();
    settings = {
      ...(withoutSandboxes === false ? ownSandboxes : {}),
      ...(nats && { SVC_NATS_URL: nats.url }),
      ...(database && { SVC_DATABASE_URL: database.url }),
      SVC_DATA_DIR: dataDir,
      SVC_PORT: String(port),
      SVC_METRICS_PORT: String(port + 2),
      SVC_LOG_LEVEL: 'info',
    };
    const running = start(['up', '--only', 'gateway'], settings);
    const [, url = ''] = await running.printed(/svc is ready at (\S+)/);
    first = { url, probes: port + 2, running };
    key = readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
    client = createClient({ baseUrl: url, apiKey: key });
  });
  after(async () => {
    killAll();
    door?.close();
    await nats?.close();
    await database?.close();
    await folder.remove();
  });

  /** A command on the machine of the first gateway. */
  const command = (...words: string[]) =>
    run(words, {
      SVC_DATA_DIR: dataDir,
      ...(nats && { SVC_NATS_URL: nats.url }),
      ...(database && { SVC_DATABASE_URL: database.url }),
    });

  test('a gateway does nothing that is due by the clock; a worker does, serves no API, and has probes and metrics', async () => {
    for (const path of ['/health', '/health/ready', '/metrics']) {
      assert.equal(await answers(`http://127.0.0.1:${first.probes}${path}`), 200, path);
    }
    const at = new Date(Date.now() + 1_000).toISOString();
    const schedule = await client.schedules.create({
      body: { name: 'soon', kind: 'shell', spec: { command: 'true' }, trigger: { type: 'at', at } },
    });
    const runs = async () => (await client.schedules.runs({ params: { id: schedule.id }, query: {} })).runs.length;
    // A ticker looks at least every second.
    await until(() => Date.now() > Date.parse(at) + 2_500);
    assert.equal(await runs(), 0);

    const other = await freePort();
    workerSettings = {
      ...settings,
      SVC_PORT: String(other),
      SVC_METRICS_PORT: String(other + 2),
      SVC_METRICS_HOST: '0.0.0.0',
    };
    worker = start(['up', '--only', 'worker'], workerSettings);
    await worker.printed(/svc worker runs, health and metrics at 0\.0\.0\.0:/);
    await until(async () => (await runs()) === 1);
    for (const path of ['/health', '/health/ready', '/metrics']) {
      assert.equal(await answers(`http://127.0.0.1:${other + 2}${path}`), 200, path);
    }
    assert.equal(await answers(`http://127.0.0.1:${other + 2}/v1/keys`), 404);
    for (const none of [other, other + 1]) assert.equal(await answers(`http://127.0.0.1:${none}/health`), 0);
  });

  test('a relay answers its routes and probes, and nothing else; status shows which parts run', async () => {
    const [far, probes] = [await freePort(), await freePort()];
    relaySettings = { ...settings, SVC_PORT: String(far), SVC_METRICS_PORT: String(probes) };
    relay = start(['up', '--only', 'relay'], relaySettings);
    await relay.printed(new RegExp(`svc relay runs at http://localhost:${far}/relay, health and metrics at `));
    for (const path of ['/health', '/health/ready']) {
      assert.equal(await answers(`http://127.0.0.1:${far}${path}`), 200, path);
    }
    assert.equal(await answers(`http://127.0.0.1:${probes}/metrics`), 200);
    for (const path of ['/v1/keys', '/status', '/docs', '/']) {
      assert.equal(await answers(`http://127.0.0.1:${far}${path}`), 404, path);
    }
    assert.equal(await answers(`http://127.0.0.1:${far + 1}/`), 0);

    const shown = JSON.parse((await command('status', '--json')).stdout);
    assert.deepEqual(
      shown.processes.map(({ part, ready }: { part: string; ready: boolean }) => [part, ready]),
      [
        ['gateway', true],
        ['worker', true],
        ['relay', true],
      ],
    );
    // A worker hears of what gateways announce: nobody waits for it.
    const { id } = await client.keys.create({ body: { name: 'short' } });
    await client.keys.revoke({ params: { id } });
    assert.doesNotMatch(first.running.output(), /did not acknowledge/);
  });

  test('a part with another store is refused at its start, until somebody accepts that store', async () => {
    assert.equal(await worker.end(), 0);
    // As on a machine with a disk of its own. A relay stores nothing.
    rmSync(join(dataDir, 'blobs/data/store.id'));
    const refused = await run(['up', '--only', 'worker'], workerSettings);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^svc: .*not the store that this database knows; give every part the same store, .*\n$/m,
    );
    assert.equal((await command('storage', 'accept')).code, 0);
    worker = start(['up', '--only', 'worker'], workerSettings);
    await worker.printed(/svc worker runs/);
  });

  /** The same database by URL. */
  async function openDoor(): Promise<string> {
    if (database) return database.url;
    const embedded = findRunning(dataDir);
    assert.ok(embedded);
    door = createServer((peer) => {
      const database = connect(join(embedded.socketDir, `.s.PGSQL.${embedded.port}`));
      peer.on('error', () => database.destroy()).pipe(database);
      database.on('error', () => peer.destroy()).pipe(peer);
    }).listen(0, '127.0.0.1');
    await once(door, 'listening');
    return `postgres://${embedded.user}@127.0.0.1:${(door.address() as AddressInfo).port}/svc`;
  }

  /** As `start`, on a machine with another machine-id. */
  const startElsewhere = (args: string[], given: Record<string, string>): Running => {
    const line = 'mount --bind "$0" /etc/machine-id && exec "$@"';
    const words = ['-m', 'sh', '-c', line, join(folder.path, 'machine-id'), join(root, 'svc'), ...args];
    return start(words, given, 'unshare');
  };

  const isReady = async ({ probes }: Gateway) => (await http(`http://127.0.0.1:${probes}`, '/health/ready')).body;
  const metric = async ({ probes }: Gateway, name: string): Promise<string | undefined> => {
    const { body } = await http(`http://127.0.0.1:${probes}`, '/metrics');
    return String(body)
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1);
  };
  const told = async (): Promise<string[]> =>
    (await http(first.url, '/v1/notifications', { key })).body.notifications.map(({ type }: { type: string }) => type);
  const failing = async (): Promise<string[]> => {
    const { body } = await http(first.url, '/v1/system', { key });
    return body.checks.flatMap(({ name, ok }: { name: string; ok: boolean }) => (ok ? [] : [name]));
  };
  const doctorFails = async (): Promise<string> => (await command('doctor')).stdout;

  test('nodes of two machines are one too many: the second is refused, and doctor, System, log, metric and an alert say so', {
    skip: withoutSandboxes || (!isLinuxRoot && 'mount namespaces need root on Linux'),
  }, async () => {
    const node = start(['up', '--only', 'sandboxd'], settings);
    await until(async () => (await metric(first, 'svc_sandbox_nodes{state="used"}')) === '1');
    writeFileSync(join(folder.path, 'machine-id'), `${'f'.repeat(32)}\n`);
    const elsewhere = join(folder.path, 'two');
    const port = await freePort();
    const given = {
      ...settings,
      SVC_DATABASE_URL: await openDoor(),
      SVC_MASTER_KEY: readFileSync(join(dataDir, 'master.key'), 'utf8').trim(),
      SVC_DATA_DIR: elsewhere,
      SVC_PORT: String(port),
      SVC_METRICS_PORT: String(port + 2),
    };
    // A disk of its own.
    const refused = startElsewhere(['up', '--only', 'gateway'], given);
    await assert.rejects(refused.printed(/svc is ready at/), /not the store that this database knows/);
    rmSync(join(elsewhere, 'blobs'), { recursive: true, force: true });
    symlinkSync(join(dataDir, 'blobs'), join(elsewhere, 'blobs'));
    startElsewhere(['up', '--only', 'sandboxd'], given);
    const running = startElsewhere(['up', '--only', 'gateway'], given);
    const [, url = ''] = await running.printed(/svc is ready at (\S+)/);
    second = { url, probes: port + 2, running };
    await running.printed(/gets no new sandbox: those of this platform are on/);

    const box = (await http(first.url, '/v1/sandboxes', { key, body: { backend: 'v1' } })).body;
    const exec = (at: string) => http(at, `/v1/sandboxes/${box.id}/exec`, { key, body: { shell: 'echo here' } });
    assert.equal((await exec(first.url)).body.stdout, 'here\n');
    const away = await exec(url);
    assert.deepEqual([away.status, away.body.error.code], [503, 'sandbox_capacity']);
    assert.match(away.body.error.message, /on another machine/);
    await until(async () => (await told()).includes('system.node_refused'));
    // Each looks every 5 s.
    for (const one of [first, second])
      await until(async () => (await metric(one, 'svc_sandbox_nodes{state="refused"}')) === '1');
    assert.ok((await failing()).includes('sandbox machines'));
    assert.match(await doctorFails(), /sandbox machines.*gets no new sandbox/);
    await http(first.url, `/v1/sandboxes/${box.id}`, { key, method: 'DELETE' });
    assert.equal((await isReady(first)).ok, true);

    // A node that hangs: nobody on its machine is heard of any more.
    const hung = nodePidOf(dataDir);
    process.kill(hung, 'SIGSTOP');
    await untilTold(async () => (await told()).includes('system.node_missing'));
    // Another gateway may have told it a moment before this one is sure.
    await untilTold(async () => (await isReady(first)).checks.sandboxes?.ok === false);
    assert.equal(await metric(first, 'svc_sandbox_nodes{state="missing"}'), '1');
    assert.ok((await failing()).includes('nodes'));
    process.kill(hung, 'SIGCONT');
    await untilTold(async () => (await told()).includes('system.node_back'));
    await node.end();
  });

  for (const [signal, words] of [
    ['SIGKILL', 'killed'],
    ['SIGSTOP', 'hung'],
  ] as const)
    test(`a worker and a relay that were ${words} are told by every gateway: ready, doctor, System, metric, log, an alert`, async () => {
      const gateways = [first, ...(second ? [second] : [])];
      const count = async (type: string) => (await told()).filter((one) => one === type).length;
      const [before, backs] = [await count('system.worker_missing'), await count('system.worker_back')];
      const relays = await count('system.relay_back');
      for (const { process: child } of [worker, relay]) child.kill(signal);
      // One after the other: a gateway that was held up itself says of neither how it is, for a moment.
      const untilAll = async (ok: boolean): Promise<void> => {
        for (const one of gateways)
          for (const part of ['worker', 'relay'])
            await untilTold(async () => (await isReady(one)).checks[part]?.ok === ok);
      };
      await untilAll(false);
      await until(async () => (await count('system.worker_missing')) === before + 1);
      for (const one of gateways) {
        for (const name of ['svc_workers', 'svc_relays']) await until(async () => (await metric(one, name)) === '0');
        await one.running.printed(/no worker for 40 s/);
        await one.running.printed(/no relay for 40 s/);
      }
      for (const name of ['worker', 'relays']) await until(async () => (await failing()).includes(name));
      const doctor = await doctorFails();
      for (const line of [/worker .*what is due by the clock waits|tickers stand/, /no relay runs/])
        assert.match(doctor, line);

      if (signal === 'SIGSTOP') for (const { process: child } of [worker, relay]) child.kill('SIGCONT');
      else {
        worker = start(['up', '--only', 'worker'], workerSettings);
        relay = start(['up', '--only', 'relay'], relaySettings);
      }
      await untilAll(true);
      await until(async () => (await count('system.worker_back')) === backs + 1);
      await until(async () => (await count('system.relay_back')) === relays + 1);
      assert.equal(await count('system.worker_missing'), before + 1, 'one alert, whoever saw it');
    });

  test('every part ends by itself when it is told to', async () => {
    for (const one of [relay, worker, ...(second ? [second.running] : []), first.running])
      assert.equal(await one.end(), 0);
  });
});

/** The node agent of a data dir, by the lock that it holds. */
const nodePidOf = (dir: string): number => Number(readFileSync(join(dir, 'sandboxd', 'lock'), 'utf8'));
