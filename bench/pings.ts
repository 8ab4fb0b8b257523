// Pings of heartbeat monitors: at a steady rate, as fast as it goes, and two bursts of which every answered one is looked for,
// the second over a connection for each ping, all opened at once from one address.
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, Pool, requestText } from './lib/client.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atLeast, atMost, bench, type Row } from './lib/report.ts';
import { percentile } from './lib/stats.ts';

const monitorCount = 500;
/** Connections that a burst comes over. */
const burstConnections = 1_000;

interface Load {
  readonly latencies: number[];
  failed: number;
  seconds: number;
}

interface Monitor {
  readonly id: string;
  readonly path: string;
}

const defaults = { seconds: 10, rate: 2_000, connections: 64, burst: 10_000 };
await bench('pings', defaults, async ({ seconds, rate, connections, burst }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  const { port, key } = platform;
  const steadyOnes = await createMonitors(port, key, monitorCount);
  const burstOnes = await createMonitors(port, key, Math.ceil(burst / 50));
  await fastest(port, steadyOnes, connections, 1);
  say(`${rate} a second for ${seconds} s`);
  const steady = await atRate(port, steadyOnes, rate, seconds);
  say(`${connections} in flight for ${seconds} s`);
  const fast = await fastest(port, steadyOnes, connections, seconds);
  say(`${burst} at once`);
  const all = await burstOf(port, burstOnes, burst);
  say(`${burst} at once, each over a connection of its own`);
  const apart = await burstApart(port, burstOnes, burst);
  const lost = all.latencies.length + apart.latencies.length - (await countStored(port, key, burstOnes));
  return {
    rows: [
      rowOf(`${rate}/s`, steady),
      rowOf('as fast as it goes', fast),
      rowOf('burst', all),
      { ...rowOf('burst apart', apart), lost },
    ],
    targets: [
      atLeast('pings/s, as fast as it goes', fast.latencies.length / fast.seconds, 2_000),
      atLeast(`pings/s at ${rate}/s`, steady.latencies.length / steady.seconds, 0.98 * rate),
      atMost(`p99 ms at ${rate}/s`, percentile(steady.latencies, 0.99), 50),
      atMost('failed or lost of the bursts', all.failed + apart.failed + Math.max(0, lost), 0),
    ],
  };
});

async function createMonitors(port: number, key: string, count: number): Promise<Monitor[]> {
  const pool = new Pool(port);
  const headers = { authorization: `Bearer ${key}` };
  const made: Monitor[] = [];
  const lanes = Array.from({ length: 16 }, async () => {
    while (made.length < count) {
      const body = JSON.stringify({ name: 'bench', period_s: 86_400 });
      const answer = await pool.exchange(requestText('POST', '/v1/heartbeats', headers, body));
      const { id, ping_url: url } = JSON.parse(answer.body) as { id: string; ping_url: string };
      made.push({ id, path: new URL(url).pathname });
    }
  });
  await Promise.all(lanes);
  pool.close();
  return made;
}

/** Monitors in turn, success and start alternating: two of one kind could share a row. */
function requestOf(monitors: readonly Monitor[], index: number): string {
  const { path } = monitors[index % monitors.length] as Monitor;
  return requestText('GET', Math.floor(index / monitors.length) % 2 === 0 ? path : `${path}/start`, {});
}

/** Sends at even intervals, whatever is still in flight; a latency counts from when its ping was due. */
async function atRate(port: number, monitors: readonly Monitor[], rate: number, seconds: number): Promise<Load> {
  const pool = new Pool(port);
  const load: Load = { latencies: [], failed: 0, seconds };
  const flying: Promise<void>[] = [];
  const began = performance.now();
  for (let sent = 0; sent < rate * seconds; ) {
    const due = ((performance.now() - began) / 1000) * rate;
    for (; sent < due && sent < rate * seconds; sent++) {
      flying.push(count(load, began + (sent / rate) * 1000, pool.exchange(requestOf(monitors, sent))));
    }
    await delay(1);
  }
  await Promise.all(flying);
  load.seconds = (performance.now() - began) / 1000;
  pool.close();
  return load;
}

async function fastest(port: number, monitors: readonly Monitor[], lanes: number, seconds: number): Promise<Load> {
  const load: Load = { latencies: [], failed: 0, seconds };
  const began = performance.now();
  let sent = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      const connection = await Connection.open(port);
      while (performance.now() < began + seconds * 1000) {
        await count(load, performance.now(), connection.exchange(requestOf(monitors, sent++)));
      }
      connection.close();
    }),
  );
  load.seconds = (performance.now() - began) / 1000;
  return load;
}

/** All at the same time; a latency counts from the first. */
async function burstOf(port: number, monitors: readonly Monitor[], burst: number): Promise<Load> {
  const load: Load = { latencies: [], failed: 0, seconds: 0 };
  const connections: Connection[] = [];
  for (let i = 0; i < burstConnections; i++) connections.push(await Connection.open(port));
  let sent = 0;
  const began = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      while (sent < burst) await count(load, began, connection.exchange(requestOf(monitors, sent++)));
      connection.close();
    }),
  );
  load.seconds = (performance.now() - began) / 1000;
  return load;
}

/** The same, each over a connection that is opened for it. */
async function burstApart(port: number, monitors: readonly Monitor[], burst: number): Promise<Load> {
  const load: Load = { latencies: [], failed: 0, seconds: 0 };
  const began = performance.now();
  const one = async (index: number): Promise<{ status: number }> => {
    const connection = await Connection.open(port);
    return connection.exchange(requestOf(monitors, index)).finally(() => connection.close());
  };
  await Promise.all(Array.from({ length: burst }, (_, index) => count(load, began, one(index))));
  load.seconds = (performance.now() - began) / 1000;
  return load;
}

async function count(load: Load, since: number, answer: Promise<{ status: number }>): Promise<void> {
  const status = await answer.then(
    (answered) => answered.status,
    () => 0,
  );
  if (status === 200) load.latencies.push(performance.now() - since);
  else load.failed += 1;
}

/** How many pings the monitors say they have. */
async function countStored(port: number, key: string, monitors: readonly Monitor[]): Promise<number> {
  const pool = new Pool(port);
  let stored = 0;
  for (const { id } of monitors) {
    const request = requestText('GET', `/v1/heartbeats/${id}/pings`, { authorization: `Bearer ${key}` });
    const { pings } = JSON.parse((await pool.exchange(request)).body) as { pings: { count: number }[] };
    stored += pings.reduce((sum, ping) => sum + ping.count, 0);
  }
  pool.close();
  return stored;
}

function rowOf(what: string, load: Load): Row {
  return {
    pings: what,
    'a second': Math.round(load.latencies.length / load.seconds),
    'p50 ms': percentile(load.latencies, 0.5),
    'p99 ms': percentile(load.latencies, 0.99),
    failed: load.failed,
  };
}
