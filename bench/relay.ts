// Exec of a no-op on a host through the relay, beside NATS request/reply with as many requests in flight.
import { randomUUID } from 'node:crypto';
import { connect } from '@nats-io/transport-node';
import { Connection, openEvents, Pool, requestText } from './lib/client.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { freePort, start } from './lib/processes.ts';
import { atLeast, atMost, bench, type Row } from './lib/report.ts';
import { percentile } from './lib/stats.ts';
import { ensureTool } from './lib/tools.ts';

/** Callers at work at the same time. */
const levels = [1, 8, 64];
/** The relay takes 16 calls in flight a host. */
const hostCount = 8;
const result = JSON.stringify({ ok: true, result: null });
const body = JSON.stringify({ op: 'noop', args: {} });

/** One caller: each call answers whether it went well. */
interface Caller {
  call(): Promise<boolean>;
  close(): void;
}

interface System {
  readonly who: string;
  /** The caller number `index`; callers are spread over the hosts. */
  caller(index: number): Promise<Caller>;
}

interface Calls {
  readonly latencies: number[];
  failed: number;
  seconds: number;
}

await bench('relay', { seconds: 3, rounds: 3 }, async ({ seconds, rounds }, say) => {
  ensureTool('nats-server');
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  await using relay = await openRelay(platform.port, platform.key);
  await using nats = await openNats();
  const found = new Map<string, Calls>();
  for (const level of levels) {
    say(`${level} in flight: ${rounds} rounds of ${seconds} s each`);
    for (const system of [relay, nats]) await load(system, level, 1, { latencies: [], failed: 0, seconds: 0 });
    for (let round = 0; round < rounds; round++) {
      for (const system of [relay, nats]) {
        const id = `${system.who} ${level}`;
        const calls = found.get(id) ?? { latencies: [], failed: 0, seconds: 0 };
        found.set(id, calls);
        await load(system, level, seconds, calls);
      }
    }
  }
  const svc = (level: number) => summary(found.get(`svc ${level}`));
  return {
    rows: levels.flatMap((level) => rowsOf(level, svc(level), summary(found.get(`nats ${level}`)))),
    targets: [
      atMost('p50 ms, 8 in flight', svc(8)['p50 ms'], 1),
      atLeast('calls/s, 64 in flight', svc(64)['calls/s'], 10_000),
    ],
  };
});

/** Keeps `level` calls in flight for some seconds. */
async function load(system: System, level: number, seconds: number, into: Calls): Promise<void> {
  const callers = await Promise.all(Array.from({ length: level }, (_, index) => system.caller(index)));
  const began = performance.now();
  const end = began + seconds * 1000;
  await Promise.all(
    callers.map(async (caller) => {
      for (let now = performance.now(); now < end; ) {
        const ok = await caller.call().catch(() => false);
        const after = performance.now();
        if (ok) into.latencies.push(after - now);
        else into.failed += 1;
        now = after;
      }
    }),
  );
  into.seconds += (performance.now() - began) / 1000;
  for (const caller of callers) caller.close();
}

function summary(calls: Calls = { latencies: [], failed: 0, seconds: 1 }) {
  return {
    'calls/s': Math.round(calls.latencies.length / calls.seconds),
    'p50 ms': percentile(calls.latencies, 0.5),
    'p99 ms': percentile(calls.latencies, 0.99),
    failed: calls.failed,
  };
}

function rowsOf(level: number, ours: ReturnType<typeof summary>, theirs: ReturnType<typeof summary>): Row[] {
  const ratios = {
    'svc calls/s : its': ours['calls/s'] / theirs['calls/s'],
    'svc p50 : its': ours['p50 ms'] / theirs['p50 ms'],
    'svc p99 : its': ours['p99 ms'] / theirs['p99 ms'],
  };
  return [
    { 'in flight': level, who: 'svc', ...ours },
    { 'in flight': level, who: 'nats', ...theirs, ...ratios },
  ];
}

/** Hosts on streams of the gateway that answer at once, and callers of them over HTTP. */
async function openRelay(port: number, key: string): Promise<System & AsyncDisposable> {
  const answers = new Pool(port);
  const hosts = await Promise.all(
    Array.from({ length: hostCount }, async () => {
      const device = randomUUID();
      const headers = { authorization: `Bearer ${key}`, 'x-svc-device': device };
      let ended: string[] = [];
      // As the daemon does: what ends in one turn goes in one request.
      const report = (): void => {
        const [path, sent] =
          ended.length === 1
            ? [`/v1/hosts/exec/${ended[0]}/result`, result]
            : [
                '/v1/hosts/results',
                JSON.stringify({ results: ended.map((id) => ({ req_id: id, ok: true, result: null })) }),
              ];
        ended = [];
        // A result that is not taken shows as a call that failed.
        answers.exchange(requestText('POST', path, headers, sent)).catch(() => {});
      };
      const events = await openEvents(port, requestText('GET', '/v1/hosts/stream', headers), (event, data) => {
        if (event !== 'exec') return;
        const { req_id: id } = JSON.parse(data) as { req_id: string };
        if (ended.push(id) === 1) setImmediate(report);
      });
      return { device, close: () => events.close() };
    }),
  );
  const headers = { authorization: `Bearer ${key}`, 'x-svc-device': randomUUID() };
  return {
    who: 'svc',
    async caller(index) {
      const connection = await Connection.open(port);
      const request = requestText('POST', `/v1/hosts/${hosts[index % hosts.length]?.device}/exec`, headers, body);
      return {
        async call() {
          const answer = await connection.exchange(request);
          return answer.status === 200 && answer.body.includes('"ok":true');
        },
        close: () => connection.close(),
      };
    },
    async [Symbol.asyncDispose]() {
      for (const host of hosts) host.close();
      answers.close();
    },
  };
}

/** A NATS server with as many responders, and callers that share one connection. */
async function openNats(): Promise<System & AsyncDisposable> {
  const port = await freePort();
  const server = start('nats-server', ['-a', '127.0.0.1', '-p', String(port)]);
  await server.written(/Server is ready/);
  const servers = `127.0.0.1:${port}`;
  const [host, client] = await Promise.all([connect({ servers }), connect({ servers })]);
  for (let index = 0; index < hostCount; index++) {
    host.subscribe(`exec.${index}`, { callback: (_error, message) => void message.respond(result) });
  }
  await host.flush();
  return {
    who: 'nats',
    caller: (index) =>
      Promise.resolve({
        async call() {
          const answer = await client.request(`exec.${index % hostCount}`, body, { timeout: 30_000 });
          return answer.string().includes('"ok":true');
        },
        close: () => {},
      }),
    async [Symbol.asyncDispose]() {
      await Promise.all([client.close(), host.close()]);
      await server[Symbol.asyncDispose]();
    },
  };
}
