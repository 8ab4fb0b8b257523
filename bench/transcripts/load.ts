import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Recorder } from '../../apps/server/src/features/transcripts/transcripts.testing.ts';
import { Pool, requestText } from '../lib/client.ts';
import { memoryOf } from '../lib/processes.ts';
import { atLeast, atMost, type Findings } from '../lib/report.ts';
import { percentile } from '../lib/stats.ts';
import { exportOf } from './exports.ts';
import type { Studio } from './studio.ts';

const probeEveryMs = 20;
/** The provider's time for a window: eight of them are in flight for a while. */
const windowMs = 4_000;
const quietMs = 5_000;
const rate = 16_000;

/** How fast `/health` answers, and what the gateway takes, while four recordings are processed and PDFs are made. */
export async function measureLoad(studio: Studio, { id, minutes }: { id: string; minutes: number }): Promise<Findings> {
  const { platform, recorder, sql } = studio;
  const other = await studio.another('load@example.test');
  const recording = noise(minutes);
  const all: { recorder: Recorder; id: string; uploads: object[] }[] = [];
  for (const one of [recorder, other.recorder, recorder, other.recorder]) {
    const upload = await one.upload(recording);
    all.push({ recorder: one, id: await one.begin(), uploads: [{ track: 'mixed', upload_id: upload.id }] });
  }
  await studio.delay(windowMs);
  const endQuiet = performance.now() + quietMs;
  const quiet = await probe(platform.port, () => performance.now() > endQuiet);
  writeFileSync(`/proc/${platform.pid}/clear_refs`, '5');
  let isOver = false;
  const health = probe(platform.port, () => isOver);
  const pdfs = exportAll(studio, id, () => isOver);
  const memory = watch(studio, () => isOver);
  const over = all.map(async (one) => {
    const path = `/v1/transcripts/${one.id}/finalize`;
    const { status, body } = await one.recorder.call('POST', path, { duration_ms: 1, uploads: one.uploads });
    if (status !== 200) throw new Error(JSON.stringify(body));
  });
  await Promise.all(over);
  const began = performance.now();
  // Asked rarely: a record of an hour is large, and its readers are not what is measured.
  for (const ids = all.map((one) => one.id); ; await delay(250)) {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from transcripts.transcripts where id = any(${ids}::uuid[]) and state in ('ready', 'failed')`;
    if (row?.n === ids.length) break;
  }
  isOver = true;
  const seconds = (performance.now() - began) / 1_000;
  const taken = await health;
  const { most, mib } = await memory;
  const peak = peakMib(platform.pid);
  const p99 = percentile(taken, 0.99);
  await studio.delay(0);
  return {
    rows: [
      { what: '/health with nothing else', 'p50 ms': percentile(quiet, 0.5), 'p99 ms': percentile(quiet, 0.99) },
      {
        what: `/health while 4 recordings of ${minutes} min are processed and PDFs made`,
        seconds,
        'p50 ms': percentile(taken, 0.5),
        'p99 ms': p99,
        besides: `longest ${Math.round(Math.max(...taken))} ms; ${await pdfs} PDFs of 3 h`,
      },
      { what: `memory with ${most} windows in flight`, besides: `${mib} MiB, at most ${peak} meanwhile` },
    ],
    targets: [
      atMost('/health meanwhile, p99 ms', p99, 100),
      atLeast('windows in flight', most, 8),
      atMost('gateway with eight windows in flight, MiB', mib, 400),
    ],
  };
}

/** A recording that compresses as badly as speech does, with a silence now and then. */
function noise(minutes: number): Buffer {
  const samples = new Int16Array(minutes * 60 * rate);
  let state = 1;
  for (let at = 0; at < samples.length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    if (Math.floor(at / rate) % 10 < 9) samples[at] = state >> 21;
  }
  const head = Buffer.from('524946460000000057415645666d74201000000001000100803e0000007d00000200100064617461', 'hex');
  const sizes = Buffer.alloc(4);
  sizes.writeUInt32LE(samples.byteLength);
  head.writeUInt32LE(samples.byteLength + 36, 4);
  return Buffer.concat([head, sizes, Buffer.from(samples.buffer)]);
}

async function probe(port: number, isOver: () => boolean): Promise<number[]> {
  const pool = new Pool(port);
  const taken: number[] = [];
  const asking: Promise<void>[] = [];
  while (!isOver()) {
    const began = performance.now();
    asking.push(
      pool.exchange(requestText('GET', '/health', {})).then(() => void taken.push(performance.now() - began)),
    );
    await delay(probeEveryMs);
  }
  await Promise.all(asking);
  pool.close();
  return taken;
}

/** Two PDFs at a time, one after the other; answers how many there were. */
async function exportAll(studio: Studio, id: string, isOver: () => boolean): Promise<number> {
  let count = 0;
  const one = async (): Promise<void> => {
    for (; !isOver(); count += 1) await exportOf(studio, id, 'pdf');
  };
  await Promise.all([one(), one()]);
  return count;
}

/** The most windows that were in flight at a time, and the gateway's memory then, MiB. */
async function watch({ sql, platform }: Studio, isOver: () => boolean): Promise<{ most: number; mib: number }> {
  let [most, kib] = [0, 0];
  for (; !isOver(); await delay(50)) {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from transcripts.steps where kind = 'window' and state = 'running'`;
    const now = memoryOf(platform.pid).rss;
    const n = row?.n ?? 0;
    if (n >= most) [most, kib] = [n, n > most ? now : Math.max(kib, now)];
  }
  return { most, mib: Math.round(kib / 1024) };
}

function peakMib(pid: number): number {
  const [, kib = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1024);
}
