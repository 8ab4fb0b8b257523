// Each flood of e2e/attacks for a while: how fast /health answers meanwhile, how an ordinary account fares, and how much memory
// the gateway takes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import { findRunningProcesses } from '../apps/server/src/running.ts';
import { type Flood, floods } from '../e2e/attacks/floods.ts';
import { openWorld, type World } from '../e2e/attacks/world.ts';
import { noSandboxes, temporaryFolder } from '../e2e/platform.ts';
import { atMost, bench, type Row, type Target } from './lib/report.ts';
import { percentile } from './lib/stats.ts';
import type { Met } from './peers/bystander.ts';

/** Asked of the design: quality, "under each attack". */
const asked = { p99Ms: 100, memoryMib: 400, latestMs: 1_000, ownP99Ms: 250, alertMs: 10_000 };
const probeEveryMs = 20;

await bench('attacks', { seconds: 20, settle: 3, first: 1 }, async (options, say) => {
  await using provider = await openProvider();
  await using world = await openWorld({ ...noSandboxes, SVC_PROVIDERS: provider.file });
  const pid = findRunningProcesses(world.dataDir)[0]?.pid;
  if (pid === undefined) throw new Error('the platform does not say which process it is');
  const down = await openAlerts(world);
  const rows: Row[] = [];
  const targets: Target[] = [];
  /** `names`: the floods that go on together. */
  const measure = async (what: string, names: readonly Flood[]): Promise<void> => {
    // The peak from here on.
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const running = names.map((name) => startFlood(world, name));
    const bystander = startBystander(world);
    const alert = alertIn(world, down);
    const { p50, p99, most, failed } = await probe(world.url, options.seconds * 1_000);
    const met = await bystander();
    const alertMs = await alert;
    await Promise.all(running.map((end) => end()));
    const peak = peakMib(pid);
    rows.push({
      attack: what,
      'p50 ms': p50,
      'p99 ms': p99,
      'longest ms': most,
      'chat p99 ms': met.chatP99,
      'write p99 ms': met.writeP99,
      'latest run ms': met.latest,
      'alert ms': alertMs,
      runs: met.runs,
      failed: failed + met.failed,
      'peak MiB': peak,
    });
    if (names.length > 0) {
      targets.push(atMost(`${what}: /health p99 ms`, p99, asked.p99Ms));
      targets.push(atMost(`${what}: a run of another account after its slot, ms`, met.latest, asked.latestMs));
      targets.push(atMost(`${what}: peak MiB`, peak, asked.memoryMib));
      targets.push(atMost(`${what}: a write of another account p99 ms`, met.writeP99, asked.ownP99Ms));
      targets.push(atMost(`${what}: an alert of another account, ms`, alertMs, asked.alertMs));
    }
    await delay(options.settle * 1_000);
  };
  const all = Object.keys(floods) as Flood[];
  const secondWave = all.filter((name) => /^[E-IR]/.test(name));
  const plans: [string, readonly Flood[]][] = [
    ['none, for comparison', []],
    ...(options.first === 1 ? all : secondWave).map((name): [string, readonly Flood[]] => [name, [name]]),
    ['those of the later waves together', secondWave],
  ];
  for (const [what, names] of plans) {
    say(`${what}: ${options.seconds} s`);
    await measure(what, names);
  }
  return { rows, targets };
});

/** Starts a flood in a process of its own; answers how it is ended. */
function startFlood({ url, keys, emails, slow }: World, name: Flood): () => Promise<void> {
  const argument = JSON.stringify({ name, url, keys, emails, slow: slow.url });
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

/** Starts the work of the owner's account; answers what ends it, and tells what it met. */
function startBystander({ url, keys }: World): () => Promise<Met> {
  const argument = JSON.stringify({ url, key: keys.owner });
  const child = spawn(process.execPath, [join(import.meta.dirname, 'peers/bystander.ts'), argument], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const printed = text(child.stdout);
  return async () => {
    child.kill();
    return JSON.parse((await printed).trim().split('\n').at(-1) ?? '') as Met;
  };
}

/** Has a monitor of the owner's tell a webhook of theirs; answers where it is told that something broke, or works again. */
async function openAlerts({ url, keys, slow }: World): Promise<string> {
  const call = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${keys.owner}`, 'content-type': 'application/json' };
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { ping_url: string };
  };
  await call('/v1/notifications/webhooks', { name: 'bench', url: `${slow.url}/now`, format: 'svc' });
  return (await call('/v1/heartbeats', { name: 'bystander', period_s: 3_600 })).ping_url;
}

/** How long it takes until the webhook hears that a monitor is down; the monitor is up again then. */
async function alertIn({ slow }: World, pingUrl: string): Promise<number> {
  const before = slow.told();
  const began = performance.now();
  const dispatcher = new Agent({ localAddress: '127.0.0.2' });
  const ping = async (path: string) => {
    for (let left = 20; left > 0; left -= 1) {
      const answer = await fetch(pingUrl + path, { dispatcher }).catch(() => undefined);
      await answer?.arrayBuffer();
      if (answer?.ok) return;
    }
    throw new Error('no ping was taken');
  };
  await ping('/fail');
  const late = performance.now() + 60_000;
  while (slow.told() === before && performance.now() < late) await delay(10);
  const taken = Math.round(performance.now() - began);
  await ping('');
  await dispatcher.close();
  return taken;
}

/** A model that answers at once, and the providers file that names it. */
async function openProvider() {
  const message = { role: 'assistant', content: 'x' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const answer = { id: 'x', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const folder = temporaryFolder();
  const file = join(folder.path, 'providers.json');
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  writeFileSync(file, JSON.stringify({ lanes: [{ id: 'bench', kind: 'openai', base_url, models: ['bench'] }] }));
  return {
    file,
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Asks `/health` at a steady rate, from another address than who attacks. */
async function probe(url: string, ms: number) {
  const dispatcher = new Agent({ localAddress: '127.0.0.2' });
  const taken: number[] = [];
  let failed = 0;
  const ask = async (): Promise<void> => {
    const began = performance.now();
    const answer = await fetch(`${url}/health`, { dispatcher }).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status !== 200) failed += 1;
    taken.push(performance.now() - began);
  };
  const asking: Promise<void>[] = [];
  for (const end = performance.now() + ms; performance.now() < end; await delay(probeEveryMs)) asking.push(ask());
  await Promise.all(asking);
  await dispatcher.close();
  const of = (share: number): number => Math.round(percentile(taken, share) * 10) / 10;
  return { p50: of(0.5), p99: of(0.99), most: of(1), failed };
}

function peakMib(pid: number): number {
  const [, kib = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1024);
}
