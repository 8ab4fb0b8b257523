// What a relay carries: machines that report, and bytes of a forwarded port beside a bare TCP proxy and beside `ssh -L`.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, requestText } from './lib/client.ts';
import { type Platform, startPeer, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { memoryOf } from './lib/processes.ts';
import { atMost, bench, type Row } from './lib/report.ts';
import { percentile } from './lib/stats.ts';
import { call, environment, systems } from './lib/ways.ts';

const gib = 1024 ** 3;
const ticks = 100;

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
