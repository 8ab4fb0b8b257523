import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { until } from '../../apps/server/src/testing.ts';
import { openDatabase } from '../../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../../apps/server/src/postgres/embedded.ts';
import { type Flood, floods } from './floods.ts';
import { makeRepository, type Person, people, type World } from './world.ts';

/** An attack of `corpus.json`: what is done, by whom, and what has to come of it. `{name}` stands for what was kept. */
export interface Attack {
  /** Of the lists of attacks: A to D of the first, E to I of the second, N and R of the third. */
  row: string;
  name: string;
  /** Needs a node; without one it is not run. */
  sandboxes?: boolean;
  steps: Step[];
}

export type Step =
  | RequestStep
  | { svc: string[]; fails?: boolean | 'either'; prints?: string; lacks?: string }
  | { open: string; as: string; device?: string; keep: string; status?: number }
  /** Within 10 s. */
  | { ended: string }
  | { daemon: Person; name: string; args?: string[]; keep: string }
  | { repository: string }
  | { absent: string }
  | { differ: [string, string] }
  | { checkpoint: true }
  | { database: 'frozen' | 'thawed' }
  | { slow: 'answers' }
  /** For a while, during which the owner is served. */
  | { flood: Flood };

interface RequestStep {
  /** `POST /v1/keys`. */
  send: string;
  /** Whose key, or the name of one that was kept; `nobody`: none. */
  as: string;
  device?: string;
  headers?: Record<string, string>;
  /** `{"$nested": n}`: n arrays, one in the other. Texts of the form `$x*1000` become as many of them. */
  body?: unknown;
  status: number;
  code?: string;
  /** Name to path in the answer: `{ "id": "data.0.id" }`. */
  keep?: Record<string, string>;
  /** Path to value. */
  is?: Record<string, unknown>;
  /** A text that the answer must not hold. */
  lacks?: string;
  /** Sent as often as it takes, 20 s at most, until the answer is this one. */
  eventually?: boolean;
  times?: number;
}

interface Stream {
  ended: Promise<void>;
  close(): void;
}

/** Runs one attack; throws what was not as it has to be. */
export async function runAttack(world: World, attack: Attack): Promise<void> {
  const kept: Record<string, string> = { url: world.url, folder: world.folder, slow: world.slow.url };
  for (const person of people) {
    kept[person] = world.keys[person];
    kept[`${person}.email`] = world.emails[person];
  }
  const streams = new Map<string, Stream>();
  const filled = <T>(value: T): T => fill(value, kept);
  try {
    for (const [n, step] of attack.steps.entries()) {
      try {
        await take(world, filled(step), { kept, streams });
      } catch (error) {
        throw new Error(`step ${n + 1}, ${JSON.stringify(step).slice(0, 200)}: ${(error as Error).message}`, {
          cause: error,
        });
      }
    }
  } finally {
    for (const stream of streams.values()) stream.close();
  }
}

interface Memory {
  kept: Record<string, string>;
  streams: Map<string, Stream>;
}

async function take(world: World, step: Step, memory: Memory): Promise<void> {
  const { kept, streams } = memory;
  if ('send' in step) return request(world, step, kept);
  if ('svc' in step) {
    const { code, stdout, stderr } = await world.svc(step.svc);
    if (step.fails !== 'either') assert.equal(code !== 0, step.fails === true, `exit code ${code}: ${stderr}`);
    if (step.prints !== undefined) assert.match(stdout + stderr, new RegExp(step.prints));
    if (step.lacks !== undefined) assert.doesNotMatch(stdout + stderr, new RegExp(step.lacks));
  } else if ('open' in step) {
    const { status, stream } = await open(world, step, kept);
    assert.equal(status, step.status ?? 200);
    if (stream) streams.set(step.keep, stream);
  } else if ('ended' in step) {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error('it still flows')), 15_000).unref());
    await Promise.race([streams.get(step.ended)?.ended, late]);
  } else if ('daemon' in step) kept[step.keep] = await world.daemon(step.daemon, step.name, step.args);
  else if ('repository' in step) makeRepository(step.repository);
  else if ('absent' in step) assert.equal(existsSync(step.absent), false, `${step.absent} is there`);
  else if ('differ' in step) assert.notEqual(kept[step.differ[0]], kept[step.differ[1]]);
  else if ('checkpoint' in step) await checkpoint(world);
  else if ('database' in step) world.freezeDatabase(step.database === 'frozen');
  else if ('slow' in step) world.slow.answer();
  else await withFlood(world, step.flood);
}

async function request(world: World, step: RequestStep, kept: Record<string, string>): Promise<void> {
  const once = async (): Promise<{ status: number; text: string }> => {
    const { status, text } = await send(world, step, kept);
    assert.notEqual(status, 500, text);
    return { status, text };
  };
  let answer = await once();
  for (let n = 1; n < (step.times ?? 1); n++) answer = await once();
  if (step.eventually) {
    await until(async () => {
      answer = await once();
      return answer.status === step.status && holds(step, answer.text);
    }, 20_000);
  }
  const { status, text } = answer;
  assert.equal(status, step.status, text.slice(0, 300));
  const body: unknown = text.startsWith('{') ? JSON.parse(text) : undefined;
  if (step.code !== undefined) assert.equal(at(body, 'error.code'), step.code);
  for (const [path, value] of Object.entries(step.is ?? {})) assert.deepEqual(at(body, path), value, path);
  if (step.lacks !== undefined) assert.ok(!text.includes(step.lacks), 'the answer holds what it must not');
  for (const [name, path] of Object.entries(step.keep ?? {})) kept[name] = String(at(body, path));
}

const holds = (step: RequestStep, text: string): boolean =>
  Object.entries(step.is ?? {}).every(([path, value]) => at(JSON.parse(text), path) === value);

async function send(world: World, step: RequestStep, kept: Record<string, string>) {
  const [method = 'GET', path = '/'] = step.send.split(' ');
  const headers: Record<string, string> = { ...step.headers };
  if (step.as !== 'nobody') headers['authorization'] = `Bearer ${kept[step.as] ?? step.as}`;
  if (step.device !== undefined) headers['x-svc-device'] = step.device;
  const body = step.body === undefined ? undefined : bodyOf(step.body);
  if (body !== undefined) headers['content-type'] ??= 'application/json';
  const answer = await fetch(world.url + path, {
    method,
    headers,
    ...(body !== undefined && { body }),
    redirect: 'manual',
  });
  return { status: answer.status, text: await answer.text() };
}

function bodyOf(body: unknown): string {
  const depth = (body as { $nested?: number }).$nested;
  if (depth !== undefined) return '['.repeat(depth) + ']'.repeat(depth);
  return JSON.stringify(body, (_, value: unknown) => {
    const match = typeof value === 'string' ? /^\$(.)\*(\d+)$/.exec(value) : null;
    return match ? (match[1] as string).repeat(Number(match[2])) : value;
  });
}

/** Opens an event stream and reads it until it ends. */
async function open(world: World, step: Extract<Step, { open: string }>, kept: Record<string, string>) {
  const abort = new AbortController();
  const answer = await fetch(world.url + step.open, {
    headers: {
      authorization: `Bearer ${kept[step.as] ?? step.as}`,
      ...(step.device !== undefined && { 'x-svc-device': step.device }),
    },
    signal: abort.signal,
  });
  if (answer.status !== 200) {
    await answer.text();
    return { status: answer.status };
  }
  const read = async (): Promise<void> => {
    try {
      for await (const _ of answer.body ?? []);
    } catch {
      // It broke: it ended too.
    }
  };
  return { status: 200, stream: { ended: read(), close: () => abort.abort() } };
}

/** Postgres does this every five minutes, and cannot when it is shut out of its folder. */
async function checkpoint({ dataDir }: World): Promise<void> {
  const embedded = findRunning(dataDir);
  assert.ok(embedded, 'the database runs');
  const sql = openDatabase({ embedded, database: 'svc' }, 1);
  try {
    await sql`checkpoint`;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** As heavy with their first requests as ever after: nothing gathers, so a shorter look sees the same. */
const atOnce: ReadonlySet<Flood> = new Set<Flood>([
  'A2 nested bodies',
  'A2 nested bodies with an Idempotency-Key',
  'A2 wide bodies',
  'A10 keys made and revoked',
  'A15 wrong keys',
  'H4 lists of messages',
  'H4 forms of many parts',
  'H9 requests that cost nothing',
  'N sign-ins of apps',
  'R4 overviews and searches',
]);

/** Rounds of requests of the owner that have to be answered while a flood runs. */
const servedTimes = (name: Flood): number => (atOnce.has(name) ? 4 : 10);

async function withFlood(world: World, name: Flood): Promise<void> {
  const stop = new AbortController();
  const flood = floods[name](world, stop.signal);
  try {
    const workerData = { url: world.url, key: world.keys.owner, rounds: servedTimes(name) };
    const owner = new Worker(join(import.meta.dirname, 'owner.ts'), { workerData });
    // Rejects with what the thread threw.
    await once(owner, 'exit');
  } finally {
    stop.abort();
    await flood;
  }
  // The flood has let go: the one who made it is served again.
  await until(async () => {
    const headers = { authorization: `Bearer ${world.keys.thief}` };
    // A connection of the flood's that was kept may end under it.
    const answer = await fetch(`${world.url}/v1/keys?limit=1`, { headers }).catch(() => undefined);
    await answer?.text();
    return answer?.status === 200;
  });
}

function at(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
}

function fill<T>(value: T, kept: Record<string, string>): T {
  if (typeof value === 'string') {
    return value.replace(/\{([\w.]+)\}/g, (whole, name: string) =>
      name === 'uuid' ? randomUUID() : (kept[name] ?? whole),
    ) as T;
  }
  if (Array.isArray(value)) return value.map((item: unknown) => fill(item, kept)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fill(inner, kept)])) as T;
}

/** Where the corpus is. */
export const corpusFile = join(import.meta.dirname, 'corpus.json');
