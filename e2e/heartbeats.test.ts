import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { freePort, killAll, startPlatform, temporaryFolder } from './platform.ts';

/** `SVC_TEST_KILLS=5` for more. */
const kills = Number(process.env['SVC_TEST_KILLS'] ?? 2);

describe('kill -9 in a burst of pings', () => {
  const folder = temporaryFolder();
  after(async () => {
    killAll();
    await folder.remove();
  });

  test(`every ping that was answered is stored, over ${kills} kills`, {
    timeout: 60_000 + 60_000 * kills,
  }, async () => {
    const [dataDir, port] = [join(folder.path, 'data'), await freePort()];
    let platform = await startPlatform(dataDir, port);
    const client = createClient({ baseUrl: platform.url, apiKey: platform.key });
    const answered = new Map<string, string[]>();
    for (let round = 0; round < kills; round++) {
      const made = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          client.heartbeats.create({ body: { name: `${round}.${i}`, period_s: 600 } }),
        ),
      );
      let killed = false;
      let count = 0;
      const enough = Promise.withResolvers<void>();
      const send = async (id: string, url: string, body: string) => {
        const answer = await fetch(new URL(new URL(url).pathname, platform.url), { method: 'POST', body }).catch(
          () => {},
        );
        if (answer?.status === 200) {
          answered.set(id, [...(answered.get(id) ?? []), body]);
          count += 1;
          if (count === 40 * (round + 1)) enough.resolve();
        } else assert.ok(killed || answer === undefined, `${answer?.status}`);
      };
      const burst = made.flatMap(({ id, ping_url: url }) =>
        Array.from({ length: 90 }, (_, i) => send(id, url, `${round}.${i}`)),
      );
      await enough.promise;
      killed = true;
      platform.process.kill('SIGKILL');
      await Promise.all(burst);
      platform = await startPlatform(dataDir, port);
    }
    for (const [id, bodies] of answered) {
      const { pings } = await client.heartbeats.pings({ params: { id }, query: {} });
      const stored = new Set(pings.map(({ body }) => body));
      assert.deepEqual(
        bodies.filter((body) => !stored.has(body)),
        [],
      );
    }
    const total = [...answered.values()].reduce((sum, bodies) => sum + bodies.length, 0);
    assert.ok(total >= 40 * kills, `${total} were answered`);
    await platform.end();
  });
});
