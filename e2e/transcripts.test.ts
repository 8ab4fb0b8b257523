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
import { freePort, killAll, noSandboxes, type Platform, startPlatform, temporaryFolder } from './platform.ts';
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

describe(`recordings whose gateway is killed again and again, seed ${seed}`, () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const durationMs = 10_000;
  // Each track is one window: how one track is cut into windows and put together again is proven where nothing is
  // killed, and half an hour of sound would be decoded anew for each kill.
  const tracks = ['mic', 'system'] as const;
  const first = toneWords({ durationMs, speakers: 2, turn: 12 });
  const second = first.map((word) => ({ ...word, id: (word.id + 2_000) % 4_096 }));
  const wordsOn = (words: readonly ToneWord[], track: (typeof tracks)[number]) =>
    words.filter(({ speaker }) => tracks[speaker] === track);
  const recordingOf = (words: readonly ToneWord[]) =>
    Object.fromEntries(tracks.map((track) => [track, toneRecording(wordsOn(words, track), durationMs)]));
  const isOfFirst = (window: string): boolean => textsOf(first).includes(window);
  const recordings: { id: string; words: readonly ToneWord[] }[] = [];
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

  /** Whether a recording has steps of a kind in one of some states. */
  const has = async (n: 0 | 1, kind: string, ...states: string[]): Promise<boolean> => {
    const rows = await sql`
      select from transcripts.steps
      where transcript_id = ${recordings[n]?.id ?? null} and kind = ${kind} and state = any(${states})`;
    return rows.length > 0;
  };
  /** Those of some windows whose words are not kept. */
  const unkept = async (windows: ReadonlySet<string>): Promise<string[]> => {
    const rows = await sql<{ transcript_id: string; track: string }[]>`
      select transcript_id, track from transcripts.steps where kind = 'window' and state <> 'done'`;
    const left = rows.flatMap(({ transcript_id: id, track }) => {
      const words = recordings.find((one) => one.id === id)?.words ?? [];
      return textsOf(words.filter(({ speaker }) => tracks[speaker] === track));
    });
    return [...windows].filter((window) => left.includes(window));
  };

  const never = new Promise<void>(() => {});
  /** The first recording is heard, and of the second the window that is asked first, once the other one is on its way. */
  const oneOfSecond = async (window: string): Promise<void> => {
    if (isOfFirst(window)) return;
    const asked = () => ears.asked.filter((one) => !isOfFirst(one));
    await until(() => asked().length === 2);
    if (window !== asked()[0]) await never;
  };
  /**
   * The moments at which it is killed: each waits for its own, and none is in the way when it passed already. A start
   * costs most of this, so that each kill hits both recordings.
   */
  const moments: [mostMs: number, came: () => Promise<boolean> | boolean, gate: Ears['gate']][] = [
    // While the first is prepared, and the second is handed in.
    [100, () => has(0, 'prepare', 'running', 'done'), () => never],
    // While windows of the first are cut, and those of the second are planned.
    [
      200,
      async () => (await has(0, 'window', 'running', 'done')) && (await has(1, 'prepare', 'running', 'done')),
      () => never,
    ],
    // While the provider is asked for every window.
    [50, () => ears.asked.length === 4, () => never],
    // While the first is put together, and between two windows of the second.
    [100, async () => (await has(0, 'stitch', 'running', 'done')) && (await has(1, 'window', 'done')), oneOfSecond],
    // While insights are written.
    [100, () => has(1, 'insights', 'running', 'done'), () => {}],
  ];

  test('become the same transcripts, charged and told once; each window is asked once, and once more for each kill that hit it', {
    timeout: 600_000,
  }, async () => {
    const asked = new Map<string, number>();
    const hits = new Map<string, number>();
    const add = (to: Map<string, number>, window: string) => to.set(window, (to.get(window) ?? 0) + 1);
    const recorder = new Recorder(platform, platform);
    // None is kept before its moment comes.
    ears.gate = () => never;
    for (const words of [first, second]) {
      const id = await recorder.begin({ title: 'Tones' });
      recordings.push({ id, words });
      assert.equal((await recorder.finalize(id, recordingOf(words))).status, 200);
    }
    for (const [mostMs, came, gate] of moments) {
      ears.gate = gate;
      await until(came);
      await delay(random() * mostMs);
      await platform.end('SIGKILL');
      // What it sent before counts too.
      await ears.isLeft();
      for (const window of ears.asked) add(asked, window);
      for (const window of await unkept(new Set(ears.asked))) add(hits, window);
      ears.asked.length = 0;
      // Nobody waits for the lease of a gateway that is gone.
      await sql`update kernel.gateways set lease_until = now()`;
      platform = await startPlatform(dataDir, platform.port, { ...noSandboxes, ...ears.settings });
    }
    for (const { id, words } of recordings) {
      const record = await new Recorder(platform, recorder.account).over(id, overMs);
      assert.equal(record.status, 'ready', JSON.stringify(record));
      assert.deepEqual(wordsOf(record), textsOf(words));
      assert.equal(record.speakers.length, 2);
      const heard =
        await sql`select from kernel.usage_records where trace_id = ${id} and route = 'transcripts.transcribe'`;
      assert.equal(heard.length, 2);
    }
    for (const window of ears.asked) add(asked, window);
    assert.deepEqual([asked.size, hits.size], [4, 4], 'each was asked, and on its way at a kill');
    for (const [window, times] of asked) assert.ok(times <= 1 + (hits.get(window) ?? 0), `${window}: ${times}`);
    const { body: usage } = await recorder.call('GET', '/v1/transcripts/usage');
    assert.deepEqual([usage.used_ms, usage.reserved_ms, usage.recordings], [2 * durationMs, 0, 2]);
    await until(async () => (await toldOf(recorder)).length > 1);
    assert.deepEqual(await toldOf(recorder), ['transcript.ready', 'transcript.ready']);
    assert.equal(await platform.end(), 0);
    const blobs = [...(await store.blobs.list('audio/')), ...(await store.blobs.list('uploads/'))];
    assert.deepEqual(
      new Set(blobs.map((name) => name.replace(/^audio\/[^/]+\//, ''))),
      new Set(recordings.flatMap(({ id }) => tracks.map((track) => `${id}/${track}`))),
    );
    assert.deepEqual(readdirSync(join(dataDir, 'media')), []);
  });
});

describe('two gateways on one database and one S3', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const durationMs = 5_000;
  const words = toneWords({ durationMs });
  const [window] = textsOf(words);
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
    assert.deepEqual(ears.asked, [window, window]);
    assert.deepEqual(await toldOf(recorderOf(owner)), ['transcript.ready']);
  });
});
