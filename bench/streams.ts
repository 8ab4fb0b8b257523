// Memory of many open SSE streams of the gateway, beside a bare node:http server that holds as many.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Events, openEvents, requestText } from './lib/client.ts';
import { startPeer, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { memoryOf } from './lib/processes.ts';
import { atMost, bench, type Row } from './lib/report.ts';

/** Streams that are being opened at the same time. */
const lanes = 32;
const warmUp = 200;

interface Server {
  readonly port: number;
  readonly pid: number;
  request(): string;
}

await bench('streams', { streams: 2_000, settle: 20 }, async ({ streams, settle }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  await using peer = await startPeer('sse');
  const authorization = `Bearer ${platform.key}`;
  const request = (): string => requestText('GET', '/v1/hosts/stream', { authorization, 'x-svc-device': randomUUID() });
  say(`svc: ${streams} streams, settled for ${settle} s before and after`);
  const ours = await measure({ port: platform.port, pid: platform.pid, request }, streams, settle);
  say('node:http: the same');
  const theirs = await measure({ port: peer.port, pid: peer.pid, request }, streams, settle);
  return {
    rows: [rowOf('svc', ours), { ...rowOf('node:http', theirs), 'svc : its': ours.each / theirs.each }],
    targets: [atMost('kB a stream', ours.each, 40)],
  };
});

/** Opens and closes some streams first: code that runs for the first time and pools that fill are no cost of a stream. */
async function measure(server: Server, streams: number, settle: number) {
  for (const stream of (await openAll(server, warmUp)).open) stream.close();
  const before = await settled(server.pid, settle);
  const began = performance.now();
  const { open, failed } = await openAll(server, streams);
  const openMs = performance.now() - began;
  const after = await settled(server.pid, settle);
  for (const stream of open) stream.close();
  const closed = await settled(server.pid, settle);
  return { before, after, closed, openMs, failed, each: ((after - before) * 1.024) / open.length };
}

/** Memory of the process after `seconds`, KiB: the least of the last five, as garbage waits for a collection. */
async function settled(pid: number, seconds: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  await delay(Math.max(0, seconds - 5) * 1_000);
  for (let second = 0; second < 5; second++) {
    await delay(1_000);
    least = Math.min(least, memoryOf(pid).rss);
  }
  return least;
}

async function openAll(server: Server, count: number): Promise<{ open: Events[]; failed: number }> {
  const open: Events[] = [];
  let left = count;
  let failed = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (left > 0) {
        left -= 1;
        const stream = await openEvents(server.port, server.request()).catch(() => undefined);
        if (stream) open.push(stream);
        else failed += 1;
      }
    }),
  );
  return { open, failed };
}

function rowOf(who: string, found: Awaited<ReturnType<typeof measure>>): Row {
  return {
    who,
    'RSS MiB before': found.before / 1024,
    'with streams': found.after / 1024,
    'after closing': found.closed / 1024,
    'opened in ms': found.openMs,
    failed: found.failed,
    'kB a stream': found.each,
  };
}
