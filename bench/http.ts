// Requests a second and latency of the gateway beside bare Fastify and Hono that serve the same JSON bytes.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { startPeer, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atLeast, atMost, bench, type Row, type Target } from './lib/report.ts';
import { median } from './lib/stats.ts';
import { ensureTool } from './lib/tools.ts';
import { type Load, type LoadOptions, wrk } from './lib/wrk.ts';

interface Server {
  readonly who: string;
  readonly port: number;
}

/** Result of all rounds of one server: the median of each figure, failures added up. */
type Summary = Pick<Load, 'perSecond' | 'p50' | 'p99' | 'failed'> & { readonly rounds: readonly Load[] };

const paths = { 'authenticated GET': '/v1/devices', '/health': '/health' };
/** The key's limit must not be what is measured. */
const settings = { SVC_RATE_REQUESTS: '100000000' };

await bench('http', { seconds: 4, rounds: 5, connections: 32, rate: 2_000 }, async (options, say) => {
  ensureTool('wrk');
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, settings);
  const headers = { authorization: `Bearer ${platform.key}` };
  await get(platform.port, paths['authenticated GET'], { ...headers, 'x-svc-device': randomUUID() });
  const bodies: Record<string, string> = {};
  for (const path of Object.values(paths)) bodies[path] = await get(platform.port, path, headers);
  const objects = Object.fromEntries(Object.entries(bodies).map(([path, body]) => [path, JSON.parse(body)]));
  await using fastify = await startPeer('fastify', JSON.stringify(objects));
  await using hono = await startPeer('hono', JSON.stringify(objects));
  const socketDir = join(dataDir.path, 'run');
  const query = { socketDir, path: paths['authenticated GET'] };
  await using fastifyQuery = await startPeer('fastify-query', JSON.stringify(query));
  const servers = [
    { who: 'svc', port: platform.port },
    { who: 'fastify', port: fastify.port },
    { who: 'hono', port: hono.port },
  ];
  for (const { who, port } of servers) {
    for (const [path, body] of Object.entries(bodies)) {
      if ((await get(port, path, headers)) !== body) throw new Error(`${who} answers other bytes at ${path}`);
    }
  }

  const rows: Row[] = [];
  const targets: Target[] = [];
  for (const [what, path] of Object.entries(paths)) {
    const load = { seconds: options.seconds, connections: options.connections, headers };
    say(`${what}: ${options.rounds} rounds of ${options.seconds} s each, as fast as it goes`);
    // The query alone, without key, limit and usage: no server that asks the database can be faster than this one.
    const ceiling = path === query.path ? [{ who: 'fastify + query', port: fastifyQuery.port }] : [];
    const full = await compare([...servers, ...ceiling], path, load, options.rounds);
    rows.push(...rowsOf(what, full));
    say(`${what}: the same at ${options.rate} requests/s`);
    const paced = await compare(servers, path, { ...load, rate: options.rate }, options.rounds);
    rows.push(...rowsOf(`${what} at ${options.rate}/s`, paced));
    targets.push(...targetsOf(what, full));
  }
  return { rows, targets };
});

/** Loads the servers in turn, round by round, each warmed up; every round starts with another one. */
async function compare(servers: readonly Server[], path: string, load: LoadOptions, rounds: number) {
  const loads = new Map(servers.map(({ who }) => [who, [] as Load[]]));
  const url = ({ port }: Server): string => `http://127.0.0.1:${port}${path}`;
  for (const server of servers) await wrk(url(server), { ...load, seconds: 2 });
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < servers.length; turn++) {
      const server = servers[(round + turn) % servers.length] as Server;
      loads.get(server.who)?.push(await wrk(url(server), load));
    }
  }
  return new Map([...loads].map(([who, all]) => [who, summarise(all)]));
}

function summarise(rounds: readonly Load[]): Summary {
  const middle = (pick: (load: Load) => number): number => median(rounds.map(pick));
  return {
    perSecond: middle((load) => load.perSecond),
    p50: middle((load) => load.p50),
    p99: middle((load) => load.p99),
    failed: rounds.reduce((sum, { failed }) => sum + failed, 0),
    rounds,
  };
}

/** The median over the rounds of ours beside theirs in the same round: what disturbs a round disturbs both. */
function ratio(summaries: ReadonlyMap<string, Summary>, who: string, pick: (load: Load) => number): number {
  const theirs = summaries.get(who)?.rounds ?? [];
  return median((summaries.get('svc')?.rounds ?? []).map((load, round) => pick(load) / pick(theirs[round] as Load)));
}

function rowsOf(what: string, summaries: ReadonlyMap<string, Summary>): Row[] {
  return [...summaries].map(([who, { perSecond, p50, p99, failed }]) => ({
    what,
    who,
    'requests/s': Math.round(perSecond),
    'p50 ms': p50,
    'p99 ms': p99,
    failed,
    ...(who !== 'svc' && {
      'svc requests/s : its': ratio(summaries, who, (load) => load.perSecond),
      'svc p99 : its': ratio(summaries, who, (load) => load.p99),
    }),
  }));
}

type Summaries = ReadonlyMap<string, Summary>;

/** Beside Fastify with the same query where there is one: the query itself costs most of what bare Fastify can do. */
function targetsOf(what: string, full: Summaries): Target[] {
  const perSecond = (load: Load): number => load.perSecond;
  if (what === '/health') return [atLeast(`${what}, requests/s : fastify's`, ratio(full, 'fastify', perSecond), 0.85)];
  const beside = 'fastify + query';
  return [
    atLeast(`${what}, requests/s : those of ${beside}`, ratio(full, beside, perSecond), 0.8),
    atMost(
      `${what}, p99 : that of ${beside}`,
      ratio(full, beside, (load) => load.p99),
      1.5,
    ),
  ];
}

async function get(port: number, path: string, headers: Record<string, string>): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  const body = await answer.text();
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${body}`);
  return body;
}
