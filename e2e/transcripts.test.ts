import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Recorder } from '../apps/server/src/features/transcripts/transcripts.testing.ts';
import {
  textOf,
  type ToneWord,
  toneRecording,
  toneWords,
} from '../apps/server/src/features/transcripts/transcripts.tones.testing.ts';
import { openDatabase, type Sql } from '../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { randomOf, suiteSeed } from '../apps/server/src/testing.random.ts';
import { until } from '../apps/server/src/testing.ts';
import { type Ears, openEars } from './ears.ts';
import { freePort, killAll, noSandboxes, type Platform, run, startPlatform, temporaryFolder } from './platform.ts';
import { openStore, type Store } from './stores.ts';

const seed = suiteSeed;
const random = randomOf(seed);
const overMs = 240_000;

/** The database of a running platform; it outlives a platform that is killed. */
function look(dataDir: string): Sql {
  const embedded = findRunning(dataDir);
  assert.ok(embedded);
  return openDatabase({ embedded, database: 'svc' }, 1);
}

/** Every word that was heard, in order. */
const wordsOf = ({ utterances }: { utterances: { words: { text: string }[] }[] }): string[] =>
  utterances.flatMap(({ words }) => words.map(({ text }) => text));
const textsOf = (words: readonly ToneWord[]): string[] => words.map(({ id }) => textOf(id));

/** What the owner was told of recordings. */
async function toldOf(recorder: Recorder): Promise<string[]> {
  const { body } = await recorder.call('GET', '/v1/notifications');
  return body.notifications
    .map(({ type }: { type: string }) => type)
    .filter((type: string) => type.startsWith('transcript'));
}

describe(`a recording whose gateway is killed again and again, seed ${seed}`, () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  let ears: Ears;
  let store: Store;
  let platform: Platform;
  let sql: Sql;

  before(async () => {
    ears = await openEars();
    store = await openStore('files', dataDir);
    platform = await startPlatform(dataDir, await freePort(), { ...noSandboxes, ...ears.settings });
    sql = look(dataDir);
  });
  after(async () => {
    await sql?.end();
    killAll();
    await ears?.[Symbol.asyncDispose]();
    await folder.remove();
  });

  /** Steps of a kind in one of some states. */
  const count = async (kind: string, ...states: string[]): Promise<number> => {
    const rows = await sql`select from transcripts.steps where kind = ${kind} and state = any(${states})`;
    return rows.length;
  };
  /** Those of some windows whose words are not kept. */
  const unkept = async (windows: ReadonlySet<string>, words: readonly ToneWord[]): Promise<string[]> => {
    const rows = await sql<{ from_ms: number; state: string }[]>`
      select (given->'window'->>'fromMs')::int as from_ms, state from transcripts.steps
      where kind = 'window' order by from_ms desc`;
    const begins = new Map(words.map(({ id, startMs }) => [textOf(id), startMs]));
    return [...windows].filter((window) => {
      const startMs = begins.get(window) ?? Number.NaN;
      return rows.find(({ from_ms: fromMs }) => fromMs <= startMs)?.state !== 'done';
    });
  };

  /** The moments at which it is killed: each waits for its own, and none is in the way when it passed already. */
  const moments: [what: string, mostMs: number, came: () => Promise<boolean> | boolean][] = [
    ['when it is handed in', 0, () => true],
    ['while it is prepared', 1_500, () => count('prepare', 'running', 'done').then(Boolean)],
    ['when its windows are planned', 0, () => count('window', 'waiting', 'running', 'done').then(Boolean)],
    ['while its windows are cut', 500, () => count('window', 'running', 'done').then(Boolean)],
    ['while the provider is asked', 50, () => ears.asked.length > 0],
    ['between two windows', 0, () => count('window', 'done').then(Boolean)],
    ['while it is put together', 600, () => count('stitch', 'running', 'done').then(Boolean)],
    ['while its insights are written', 600, () => count('insights', 'running', 'done').then(Boolean)],
  ];

  test('becomes the same transcript, charged and told once; each window is asked once, and once more for each kill that hit it', {
    timeout: 600_000,
  }, async () => {
    const durationMs = 32 * 60_000;
    // No word comes twice: the first one tells which window it is.
    const words = toneWords({ durationMs, everyMs: 600, speakers: 3 });
    // None is kept before its moment comes.
    ears.gate = () => new Promise(() => {});
    const recorder = new Recorder(platform, platform);
    const id = await recorder.begin({ title: 'Tones' });
    const recording = toneRecording(words, durationMs);
    assert.equal((await recorder.finalize(id, { mixed: recording })).status, 200);
    const asked = new Map<string, number>();
    const hits = new Map<string, number>();
    const add = (to: Map<string, number>, window: string) => to.set(window, (to.get(window) ?? 0) + 1);
    for (const [what, mostMs, came] of moments) {
      if (what === 'between two windows')
        ears.gate = async (window) => {
          await until(() => ears.asked.length === 3);
          // The others are on their way when it is kept.
          if (window !== ears.asked[0]) await new Promise(() => {});
        };
      if (what === 'while it is put together') ears.gate = () => {};
      await until(came);
      await delay(random() * mostMs);
      await platform.end('SIGKILL');
      // What it sent before counts too.
      await ears.isLeft();
      for (const window of ears.asked) add(asked, window);
      for (const window of await unkept(new Set(ears.asked), words)) add(hits, window);
      ears.asked.length = 0;
      // Nobody waits for the lease of a gateway that is gone.
      await sql`update kernel.gateways set lease_until = now()`;
      platform = await startPlatform(dataDir, platform.port, { ...noSandboxes, ...ears.settings });
    }
    const record = await new Recorder(platform, recorder.account).over(id, overMs);
    assert.equal(record.status, 'ready', JSON.stringify(record));
    for (const window of ears.asked) add(asked, window);
    assert.deepEqual(wordsOf(record), textsOf(words));
    assert.equal(record.speakers.length, 3);
    assert.deepEqual([asked.size, hits.size], [3, 3], 'each was asked, and on its way at a kill');
    for (const [window, times] of asked) assert.ok(times <= 1 + (hits.get(window) ?? 0), `${window}: ${times}`);
    const { body: usage } = await recorder.call('GET', '/v1/transcripts/usage');
    assert.deepEqual([usage.used_ms, usage.reserved_ms, usage.recordings], [durationMs, 0, 1]);
    const heard =
      await sql`select from kernel.usage_records where trace_id = ${id} and route = 'transcripts.transcribe'`;
    assert.equal(heard.length, 3);
    await until(async () => (await toldOf(recorder)).length > 0);
    assert.deepEqual(await toldOf(recorder), ['transcript.ready']);
    assert.equal(await platform.end(), 0);
    const blobs = [...(await store.blobs.list('audio/')), ...(await store.blobs.list('uploads/'))];
    assert.deepEqual(
      blobs.map((name) => name.replace(/^audio\/[^/]+\//, '')),
      [`${id}/mixed`],
    );
    assert.deepEqual(readdirSync(join(dataDir, 'media')), []);
  });
});

describe('two gateways on one database and one S3', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const durationMs = 20_000;
  const words = toneWords({ durationMs });
  const others = words.map((word) => ({ ...word, id: (word.id + 2_000) % 4_096 }));
  const [first, othersFirst] = [textsOf(words)[0], textsOf(others)[0]] as [string, string];
  let ears: Ears;
  let store: Store;
  const gateways = new Map<string, Platform>();
  let owner: Pick<Platform, 'key'>;
  let sql: Sql;

  before(async () => {
    ears = await openEars();
    store = await openStore('S3', dataDir);
    for (const _ of [1, 2]) {
      const settings = { ...noSandboxes, ...ears.settings, ...store.settings };
      const gateway = await startPlatform(dataDir, await freePort(), settings);
      owner ??= gateway;
      sql ??= look(dataDir);
      const rows = await sql<{ id: string }[]>`select id from kernel.gateways where lease_until > now()`;
      const own = rows.find(({ id }) => !gateways.has(id));
      assert.ok(own);
      gateways.set(own.id, gateway);
    }
  });
  after(async () => {
    await sql?.end();
    for (const gateway of gateways.values()) await gateway.end();
    killAll();
    await store?.[Symbol.asyncDispose]();
    await ears?.[Symbol.asyncDispose]();
    await folder.remove();
  });
  const recorderOf = (account: Pick<Platform, 'key'>): Recorder =>
    new Recorder([...gateways.values()].at(-1) as Platform, account);

  test('the other one takes over what a gateway had that is killed', async () => {
    ears.gate = () => new Promise(() => {});
    const id = await recorderOf(owner).begin();
    assert.equal((await recorderOf(owner).finalize(id, { mic: toneRecording(words, durationMs) })).status, 200);
    await until(() => ears.asked.length === 1);
    const [step] = await sql<{ gateway_id: string }[]>`
      select gateway_id from transcripts.steps where kind = 'window' and state = 'running'`;
    assert.ok(step);
    await gateways.get(step.gateway_id)?.end('SIGKILL');
    gateways.delete(step.gateway_id);
    ears.gate = () => {};
    const record = await recorderOf(owner).over(id, overMs);
    assert.deepEqual([record.status, wordsOf(record)], ['ready', textsOf(words)]);
    assert.deepEqual(ears.asked, [first, first]);
    assert.deepEqual(await toldOf(recorderOf(owner)), ['transcript.ready']);
  });

  test('ten recordings of one account hold up no recording of another', async () => {
    const svc = async (...args: string[]) => {
      const { code, stdout, stderr } = await run([...args, '--data-dir', dataDir, '--json']);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    await svc('accounts', 'create', '--email', 'other@example.test');
    const other = await svc('keys', 'create', '--email', 'other@example.test', '--name', 'own');
    ears.asked.length = 0;
    const isReady = Promise.withResolvers<void>();
    ears.gate = (window) => (window === first ? isReady.promise : undefined);
    const [mine, theirs] = [recorderOf(owner), recorderOf(other)];
    const ids: string[] = [];
    for (let n = 0; n < 10; n += 1) {
      const id = await mine.begin();
      assert.equal((await mine.finalize(id, { mic: toneRecording(words, durationMs) })).status, 200);
      ids.push(id);
    }
    // As many as an account may have under way.
    await until(() => ears.asked.length === 4);
    const id = await theirs.begin();
    assert.equal((await theirs.finalize(id, { mic: toneRecording(others, durationMs) })).status, 200);
    const record = await theirs.over(id, overMs);
    assert.deepEqual([record.status, wordsOf(record)], ['ready', textsOf(others)]);
    assert.deepEqual(ears.asked, [first, first, first, first, othersFirst]);
    isReady.resolve();
    for (const own of ids) assert.equal((await mine.over(own, overMs)).status, 'ready');
    assert.equal(ears.asked.length, 11);
  });
});
