import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type Client, createClient } from '@svc/sdk';
import { randomOf, suiteSeed } from '../apps/server/src/testing.random.ts';
import { freePort, killAll, startPlatform, temporaryFolder } from './platform.ts';

/**
 * Each takes 3 s; `SVC_TEST_KILLS=200` for more. Torture breaks every statement of such writes; this is all of them
 * at once.
 */
const kills = Number(process.env['SVC_TEST_KILLS'] ?? 2);
/** Writes that were acknowledged, some of each kind among them, before the platform is killed. */
const enough = 20;
/** Monitors and the pings that are sent to each, all in one burst. */
const burst = { monitors: 10, pings: 60 };

/** What was acknowledged: ids of keys and prompts, texts of pings by monitor. */
interface Acknowledged {
  readonly keys: string[];
  readonly prompts: string[];
  readonly pings: Map<string, string[]>;
}

/** Repeats a write until it fails: the platform is gone. */
async function whileItLives(write: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await write();
    } catch {
      return;
    }
  }
}

/** Writes of three kinds at once until the platform is killed; `tell` hears of each that was acknowledged. */
async function writeAll(client: Client, url: string, round: number, known: Acknowledged, tell: () => void) {
  const monitors = await Promise.all(
    Array.from({ length: burst.monitors }, (_, n) =>
      client.heartbeats.create({ body: { name: `${round}.${n}`, period_s: 600 } }),
    ),
  );
  const ping = async (id: string, path: string, body: string): Promise<void> => {
    const answer = await fetch(url + path, { method: 'POST', body }).catch(() => undefined);
    if (answer?.status !== 200) return;
    known.pings.set(id, [...(known.pings.get(id) ?? []), body]);
    tell();
  };
  await Promise.all([
    whileItLives(async () => {
      known.keys.push((await client.keys.create({ body: { name: `r${round}` } })).id);
      tell();
    }),
    whileItLives(async () => {
      const body = { prompt: `Prompt ${randomUUID()}`, not_before: '2030-01-01' };
      known.prompts.push((await client.prompts.create({ body })).id);
      tell();
    }),
    ...monitors.flatMap(({ id, ping_url }) =>
      Array.from({ length: burst.pings }, (_, n) => ping(id, new URL(ping_url).pathname, `${round}.${n}`)),
    ),
  ]);
}

describe('kill -9 of the platform under load', () => {
  const folder = temporaryFolder();
  after(async () => {
    killAll();
    await folder.remove();
  });

  test(`every key, prompt and ping that was acknowledged is stored, over ${kills} kills at random instants`, {
    timeout: 600_000 + 60_000 * kills,
  }, async () => {
    const random = randomOf(suiteSeed);
    const [dataDir, port] = [join(folder.path, 'data'), await freePort()];
    let platform = await startPlatform(dataDir, port);
    const { key, url } = platform;
    const known: Acknowledged = { keys: [], prompts: [], pings: new Map() };
    for (let round = 0; round < kills; round += 1) {
      const { promise: isTime, resolve: kill } = Promise.withResolvers<void>();
      let left = enough + Math.floor(random() * 5 * enough);
      const writing = writeAll(createClient({ baseUrl: url, apiKey: key, retries: 0 }), url, round, known, () => {
        left -= 1;
        if (left <= 0 && known.keys.length > round && known.prompts.length > round) kill();
      });
      await isTime;
      platform.process.kill('SIGKILL');
      await writing;
      platform = await startPlatform(dataDir, port);
    }
    const client = createClient({ baseUrl: url, apiKey: key });
    const { keys } = await client.keys.list();
    const storedKeys = new Set(keys.map(({ id }) => id));
    assert.deepEqual(
      known.keys.filter((id) => !storedKeys.has(id)),
      [],
    );
    for (const id of known.prompts) assert.equal((await client.prompts.get({ params: { id } })).prompt.id, id);
    for (const [id, sent] of known.pings) {
      const { pings } = await client.heartbeats.pings({ params: { id }, query: {} });
      const stored = new Set(pings.map(({ body }) => body));
      assert.deepEqual(
        sent.filter((body) => !stored.has(body)),
        [],
      );
    }
    const pings = [...known.pings.values()].flat().length;
    assert.ok(
      known.keys.length > 0 && known.prompts.length > 0 && pings > 0,
      'something of each kind was acknowledged',
    );
    await platform.end();
  });
});
