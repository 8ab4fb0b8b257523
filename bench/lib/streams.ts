import { setTimeout as delay } from 'node:timers/promises';
import { type Events, openEvents } from './client.ts';
import { memoryOf } from './processes.ts';

/** Streams that are being opened at the same time. */
const lanes = 32;
const warmUp = 200;

/** A server on 127.0.0.1, and the text of a request that opens a stream there. */
interface Server {
  readonly port: number;
  readonly pid: number;
  request(): string;
}

/** What open streams take of a server's memory, KiB; `each`: kB a stream. */
export interface StreamsFound {
  readonly before: number;
  readonly after: number;
  readonly closed: number;
  readonly openMs: number;
  readonly failed: number;
  readonly each: number;
}

/**
 * What so many open streams cost a server, which has `settle` seconds to rest before each look. Opens and closes some streams
 * first: code that runs for the first time and pools that fill are no cost of a stream.
 */
export async function measureStreams(server: Server, streams: number, settle: number): Promise<StreamsFound> {
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
