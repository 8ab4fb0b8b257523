// Each flood of e2e/attacks for a while: how fast /health answers meanwhile, and how much memory the gateway takes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findRunningProcesses } from '../apps/server/src/running.ts';
import { type Flood, floods } from '../e2e/attacks/floods.ts';
import { openWorld, type World } from '../e2e/attacks/world.ts';
import { atMost, bench, type Row, type Target } from './lib/report.ts';
import { percentile } from './lib/stats.ts';

/** Asked of the design: quality, "under each attack". */
const asked = { p99Ms: 100, memoryMib: 400 };
const probeEveryMs = 20;

await bench('attacks', { seconds: 20, settle: 3, first: 1 }, async (options, say) => {
  await using world = await openWorld();
  const pid = findRunningProcesses(world.dataDir)[0]?.pid;
  if (pid === undefined) throw new Error('the platform does not say which process it is');
  const rows: Row[] = [];
  const targets: Target[] = [];
  /** `names`: the floods that go on together. */
  const measure = async (what: string, names: readonly Flood[]): Promise<void> => {
    // The peak from here on.
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const running = names.map((name) => startFlood(world, name));
    const { p50, p99, most, failed } = await probe(world.url, options.seconds * 1_000);
    await Promise.all(running.map((end) => end()));
    const peak = peakMib(pid);
    rows.push({ attack: what, 'p50 ms': p50, 'p99 ms': p99, 'longest ms': most, failed, 'peak MiB': peak });
    if (names.length > 0) {
      targets.push(atMost(`${what}: /health p99 ms`, p99, asked.p99Ms));
      targets.push(atMost(`${what}: peak MiB`, peak, asked.memoryMib));
    }
    await delay(options.settle * 1_000);
  };
  const all = Object.keys(floods) as Flood[];
  const secondWave = all.filter((name) => /^[E-I]/.test(name));
  const plans: [string, readonly Flood[]][] = [
    ['none, for comparison', []],
    ...(options.first === 1 ? all : secondWave).map((name): [string, readonly Flood[]] => [name, [name]]),
    ['those of the second wave together', secondWave],
  ];
  for (const [what, names] of plans) {
    say(`${what}: ${options.seconds} s`);
    await measure(what, names);
  }
  return { rows, targets };
});

/** Starts a flood in a process of its own; answers how it is ended. */
function startFlood({ url, keys, slow }: World, name: Flood): () => Promise<void> {
  const argument = JSON.stringify({ name, url, keys, slow: slow.url });
  const child = spawn(process.execPath, [join(import.meta.dirname, 'peers/flood.ts'), argument], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  return async () => {
    child.kill();
    await ended;
    slow.answer();
  };
}

/** Asks `/health` at a steady rate. */
async function probe(url: string, ms: number) {
  const taken: number[] = [];
  let failed = 0;
  const ask = async (): Promise<void> => {
    const began = performance.now();
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status !== 200) failed += 1;
    taken.push(performance.now() - began);
  };
  const asking: Promise<void>[] = [];
  for (const end = performance.now() + ms; performance.now() < end; await delay(probeEveryMs)) asking.push(ask());
  await Promise.all(asking);
  const of = (share: number): number => Math.round(percentile(taken, share) * 10) / 10;
  return { p50: of(0.5), p99: of(0.99), most: of(1), failed };
}

function peakMib(pid: number): number {
  const [, kib = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1024);
}
