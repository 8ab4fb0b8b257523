// What a relay carries: machines that report, and bytes of a forwarded port beside a bare TCP proxy and beside `ssh -L`.
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, requestText } from './lib/client.ts';
import { type Platform, startPeer, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { freePort, memoryOf, start } from './lib/processes.ts';
import { atMost, bench, type Row } from './lib/report.ts';
import { percentile } from './lib/stats.ts';

const root = resolve(import.meta.dirname, '..');
const gib = 1024 ** 3;
const sshd = '/usr/sbin/sshd';
const ticks = 100;

/** A machine that was enrolled. */
interface Enrolled {
  id: string;
  slug: string;
  deviceId: string;
  token: string;
}

await bench('tunnels', { daemons: 1_000, seconds: 60, pings: 2_000 }, async ({ daemons, seconds, pings }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, {
    SVC_RATE_REQUESTS: '100000000',
    SVC_QUOTA_ENVIRONMENTS: '100000',
  });
  say(`${daemons} daemons that report every 10 s, for ${seconds} s`);
  const fleet = await reports(platform, dataDir.path, { daemons, seconds });
  const rows: Row[] = [];
  const healthOf: Record<string, number> = {};
  const apiOf: Record<string, number> = {};
  for (const system of await systems(platform, dataDir.path, say)) {
    await using made = system;
    say(`a GiB and ${pings} answers of a byte through ${made.who}`);
    const { rates, health, api } = await transfers(platform, made.port);
    apiOf[made.who] = percentile(api, 0.99);
    const times = await pingPong(made.port, pings);
    say(`  ${Math.round(rates)} MiB/s`);
    const [idle, busy] = [percentile(times, 0.5), percentile(times, 0.99)];
    healthOf[made.who] = percentile(health, 0.99);
    rows.push({
      who: made.who,
      'MiB/s': rates,
      'answer p50 ms': idle,
      'p99 ms': busy,
      '/health p99 ms': percentile(health, 0.99),
      'API p99 ms': percentile(api, 0.99),
    });
  }
  const rateOf = (who: string): number => Number(rows.find((row) => row['who'] === who)?.['MiB/s'] ?? Number.NaN);
  for (const row of rows) Object.assign(row, { ': proxy': Number(row['MiB/s']) / rateOf('TCP proxy') });
  return {
    rows: [fleet.row, ...rows] as Row[],
    targets: [
      atMost('status p99 ms, daemons reporting', fleet.status, 100),
      atMost('/health p99 ms while a GiB goes through', healthOf['svc'] ?? Number.NaN, 100),
      atMost('/health p99 ms, with a relay of its own', healthOf['svc, own relay'] ?? Number.NaN, 100),
      // Beside a proxy that takes as much of the machine and is no part of the gateway.
      atMost('API p99 : with a TCP proxy', (apiOf['svc'] ?? Number.NaN) / (apiOf['TCP proxy'] ?? Number.NaN), 1.5),
    ],
  };
});

/** A call of the owner. */
async function call(platform: Pick<Platform, 'port' | 'key'>, method: string, path: string, body?: object) {
  const answer = await fetch(`http://127.0.0.1:${platform.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${platform.key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
  return JSON.parse(text);
}

async function environment(platform: Platform, project: string): Promise<Omit<Enrolled, 'deviceId'>> {
  const body = { project_id: project, provider: 'byo', name: 'Machine' };
  const { id, slug } = (await call(platform, 'POST', '/v1/environments', body)).environment;
  const { token } = await call(platform, 'POST', `/v1/environments/${id}/enroll-token`);
  return { id, slug, token };
}

/** Enrols machines, has them report, and asks for their status meanwhile. */
async function reports(platform: Platform, dir: string, { daemons, seconds }: { daemons: number; seconds: number }) {
  const { project } = await call(platform, 'POST', '/v1/projects', { name: 'Fleet' });
  const environments: { id: string; deviceId: string }[] = [];
  for (let n = 0; n < daemons; n += 1) {
    const { id, token } = await environment(platform, project.id);
    const deviceId = randomUUID();
    const body = { token, device_id: deviceId, daemon_version: '0.1.0', os: 'linux', arch: 'x64' };
    await call(platform, 'POST', '/v1/environments/enroll', body);
    environments.push({ id, deviceId });
  }
  await delay(2_000);
  const before = memoryOf(platform.pid).rss;
  const url = `http://127.0.0.1:${platform.port}/relay`;
  const file = join(dir, 'fleet.json');
  writeFileSync(file, JSON.stringify({ url, key: platform.key, environments }));
  await using _machines = await startPeer('machines', file);
  await delay(15_000);
  const began = cpuOf(platform.pid);
  const connection = await Connection.open(platform.port);
  const times: number[] = [];
  const health: number[] = [];
  let online = 0;
  const end = performance.now() + seconds * 1_000;
  for (let n = 0; performance.now() < end; n += 1) {
    const { id } = environments[n % environments.length] as { id: string };
    const headers = { authorization: `Bearer ${platform.key}` };
    const status = await timed(connection, requestText('GET', `/relay/v1/environments/${id}/status`, headers), times);
    if (status.includes('"online":true')) online += 1;
    await timed(connection, requestText('GET', '/health', {}), health);
    await delay(20);
  }
  connection.close();
  const cpu = (cpuOf(platform.pid) - began) / seconds;
  const grown = memoryOf(platform.pid).rss - before;
  const status = percentile(times, 0.99);
  const row = {
    who: `${daemons} daemons`,
    'online of asked': online / times.length,
    'gateway cores': cpu,
    'kB each': grown / daemons,
    'status p50 ms': percentile(times, 0.5),
    'status p99 ms': status,
    '/health p99 ms': percentile(health, 0.99),
  };
  return { row, status };
}

async function timed(connection: Connection, request: string, into: number[]): Promise<string> {
  const began = performance.now();
  const { body } = await connection.exchange(request);
  into.push(performance.now() - began);
  return body;
}

/** CPU seconds of a process since its start. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);
  return ((fields[11] ?? 0) + (fields[12] ?? 0)) / ticks;
}

interface System extends AsyncDisposable {
  readonly who: string;
  /** Leads to the source. */
  readonly port: number;
}

/** Ways to one server: by itself, through a bare proxy, ssh, and the relay in the gateway and in a process of its own. */
async function systems(platform: Platform, dir: string, say: (text: string) => void): Promise<System[]> {
  const source = await startPeer('tcp', 'source');
  const proxy = await startPeer('tcp', String(source.port));
  const found: System[] = [
    { who: 'direct', port: source.port, [Symbol.asyncDispose]: () => Promise.resolve() },
    { who: 'TCP proxy', port: proxy.port, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() },
  ];
  if (process.getuid?.() === 0 && existsSync(sshd)) found.push(await overSsh(source.port, dir));
  else say('ssh is left out: it needs root and a ssh server');
  found.push(await overRelay('svc', platform, join(dir, 'one'), source.port));
  const relayPort = await freePort();
  const running = start(join(root, 'svc'), ['up', '--only', 'relay', '--data-dir', dir], {
    ...process.env,
    SVC_RELAY_URL: `http://127.0.0.1:${relayPort}/relay`,
    SVC_PORT: String(relayPort),
    SVC_METRICS_PORT: '0',
    SVC_RATE_REQUESTS: '100000000',
  });
  await running.written(/svc relay runs at/);
  const own = await overRelay('svc, own relay', platform, join(dir, 'two'), source.port, relayPort);
  found.push({
    ...own,
    async [Symbol.asyncDispose]() {
      await own[Symbol.asyncDispose]();
      await running[Symbol.asyncDispose]();
      await source[Symbol.asyncDispose]();
    },
  });
  return found;
}

async function overSsh(to: number, dir: string): Promise<System> {
  const [port, local] = [await freePort(), await freePort()];
  const keys = join(dir, 'ssh');
  mkdirSync(keys);
  mkdirSync('/run/sshd', { recursive: true });
  for (const name of ['host', 'client'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(keys, name)]);
  const options = ['UsePAM=no', 'StrictModes=no', `AuthorizedKeysFile=${join(keys, 'client.pub')}`, 'PidFile=none'];
  const server = start(sshd, [
    '-D',
    '-e',
    '-f',
    '/dev/null',
    '-h',
    join(keys, 'host'),
    '-p',
    String(port),
    ...options.flatMap((one) => ['-o', one]),
  ]);
  await server.written(/listening on/);
  const quiet = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR'];
  const forward = `127.0.0.1:${local}:127.0.0.1:${to}`;
  const client = spawn(
    'ssh',
    ['-N', ...quiet, '-i', join(keys, 'client'), '-p', String(port), '-L', forward, '127.0.0.1'],
    { stdio: 'ignore' },
  );
  await untilConnected(local);
  return {
    who: 'ssh -L',
    port: local,
    async [Symbol.asyncDispose]() {
      client.kill();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A machine with the host's daemon, and `svc env forward` to it; `relayPort`: of another process than the gateway. */
async function overRelay(
  who: string,
  platform: Platform,
  dir: string,
  to: number,
  relayPort = platform.port,
): Promise<System> {
  mkdirSync(dir);
  const { project } = await call(platform, 'POST', '/v1/projects', {
    name: 'Forward',
    slug: `forward-${randomUUID().slice(0, 8)}`,
  });
  const { id, token } = await environment(platform, project.id);
  writeFileSync(join(dir, 'host.json'), JSON.stringify({ ports: 'loopback', roots: [dir] }));
  const env = { ...process.env, SVC_API_KEY: platform.key, SVC_BASE_URL: `http://127.0.0.1:${platform.port}` };
  const host = (file: string, ...words: string[]) =>
    start(process.execPath, [join(root, 'apps/host/src', file), ...words, '--state-dir', dir], env);
  await host('main.ts', 'enroll', token).written(/is enrolled/);
  const relayUrl = `http://127.0.0.1:${relayPort}/relay`;
  writeFileSync(join(dir, 'environments.json'), JSON.stringify([{ environment_id: id, relay_url: relayUrl }]));
  const daemon = host('main.ts', 'run');
  while (!(await call(platform, 'GET', `/relay/v1/environments/${id}/status`)).usable) await delay(100);
  const local = await freePort();
  const words = ['forward', id, String(to), '--local-port', String(local)];
  const forward = start(process.execPath, [join(root, 'apps/host/src/env.ts'), ...words, '--state-dir', dir], {
    ...env,
    SVC_RELAY_URL: relayUrl,
  });
  await untilConnected(local);
  return {
    who,
    port: local,
    async [Symbol.asyncDispose]() {
      await forward[Symbol.asyncDispose]();
      await daemon[Symbol.asyncDispose]();
    },
  };
}

async function untilConnected(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await delay(50);
  }
}

/** A GiB through a port, in MiB a second, and how long `/health` and a list took meanwhile. */
async function transfers(
  platform: Platform,
  port: number,
): Promise<{ rates: number; health: number[]; api: number[] }> {
  const health: number[] = [];
  const api: number[] = [];
  const list = requestText('GET', '/v1/devices', { authorization: `Bearer ${platform.key}` });
  const connection = await Connection.open(platform.port);
  const over = new AbortController();
  const asking = (async () => {
    while (!over.signal.aborted) {
      await timed(connection, requestText('GET', '/health', {}), health);
      await timed(connection, list, api);
      await delay(10);
    }
  })();
  const socket = connect(port, '127.0.0.1');
  socket.write('d');
  const began = performance.now();
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await once(socket, 'close');
  const seconds = (performance.now() - began) / 1_000;
  over.abort();
  await asking;
  connection.close();
  if (bytes !== gib) throw new Error(`${bytes} of ${gib} bytes came`);
  return { rates: gib / 1024 ** 2 / seconds, health, api };
}

/** Milliseconds from a byte to its echo, one after the other. */
async function pingPong(port: number, count: number): Promise<number[]> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  const times: number[] = [];
  for (let n = 0; n <= count; n += 1) {
    const began = performance.now();
    socket.write('e');
    await once(socket, 'data');
    // The first opens the way.
    if (n > 0) times.push(performance.now() - began);
  }
  socket.destroy();
  return times;
}
