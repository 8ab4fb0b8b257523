// Time from the command to ready, and memory of the idle gateway, beside bare Fastify.
import { setTimeout as delay } from 'node:timers/promises';
import { type Platform, startPeer, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { memoryOf } from './lib/processes.ts';
import { atMost, bench, type Row } from './lib/report.ts';
import { median } from './lib/stats.ts';

const idleSeconds = 10;

/** Milliseconds to ready and KiB when idle, of one start. */
interface Start {
  readonly ms: number;
  readonly rss: number;
  readonly anonymous: number;
}

await bench('start', { runs: 5 }, async ({ runs }, say) => {
  const first: Start[] = [];
  const later: Start[] = [];
  const fastify: Start[] = [];
  for (let run = 1; run <= runs; run++) {
    say(`run ${run} of ${runs}: a first start, a later one, bare Fastify; each idle for ${idleSeconds} s`);
    using dataDir = temporaryDataDir();
    first.push(await measure(() => startPlatform(dataDir.path)));
    later.push(await measure(() => startPlatform(dataDir.path)));
    fastify.push(await measure(startFastify));
  }
  const mib = (starts: readonly Start[]): number => median(starts.map(({ rss }) => rss)) / 1024;
  const slowest = (starts: readonly Start[]): number => Math.max(...starts.map(({ ms }) => ms)) / 1000;
  return {
    rows: [
      rowOf('svc, first start', first, fastify),
      rowOf('svc, later start', later, fastify),
      rowOf('fastify', fastify, fastify),
    ],
    targets: [
      atMost('slowest first start, s', slowest(first), 5),
      atMost('slowest later start, s', slowest(later), 5),
      atMost('idle memory of the gateway, MiB, first start', mib(first), 150),
      atMost('idle memory of the gateway, MiB, later start', mib(later), 150),
    ],
  };
});

type Started = Pick<Platform, 'pid' | 'readyMs'> & AsyncDisposable;

async function measure(begin: () => Promise<Started>): Promise<Start> {
  await using started = await begin();
  await delay(idleSeconds * 1000);
  return { ms: started.readyMs, ...memoryOf(started.pid) };
}

/** From the command to the first answer. */
async function startFastify(): Promise<Started> {
  const began = performance.now();
  const peer = await startPeer('fastify', JSON.stringify({ '/health/ready': { ok: true } }));
  const answer = await fetch(`http://127.0.0.1:${peer.port}/health/ready`);
  await answer.arrayBuffer();
  return { ...peer, readyMs: performance.now() - began };
}

function rowOf(what: string, starts: readonly Start[], peer: readonly Start[]): Row {
  const times = starts.map(({ ms }) => ms);
  const middle = (all: readonly Start[], pick: (start: Start) => number): number => median(all.map(pick));
  return {
    what,
    'min ms': Math.min(...times),
    'median ms': median(times),
    'max ms': Math.max(...times),
    'idle RSS MiB': middle(starts, ({ rss }) => rss) / 1024,
    'of it anonymous': middle(starts, ({ anonymous }) => anonymous) / 1024,
    'time : fastify': median(times) / middle(peer, ({ ms }) => ms),
    'RSS : fastify': middle(starts, ({ rss }) => rss) / middle(peer, ({ rss }) => rss),
  };
}
