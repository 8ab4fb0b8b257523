import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { createAccount, http, type TestAccount, until } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { openModels, replies, type Script, speaks } from './inference.testing.ts';

const mib = 1024 * 1024;
/** Answers only when it is let. */
const held = (script: Script) => {
  const { promise, resolve: go } = Promise.withResolvers<void>();
  const waiting: Script = (response, taken) => promise.then(() => script(response, taken));
  return { waiting, go };
};
const letters = (bytes: number): string => 'é"\\n '.repeat(bytes / 6);

describe('long requests', () => {
  const clock = testClock();
  const lanes = ({ main, spare }: Record<'main' | 'spare', string>) => [
    { id: 'first', kind: 'openai', base_url: `${main}/v1`, models: ['chat-1', 'mixed-1'] },
    { id: 'same', kind: 'openai', base_url: `${spare}/v1`, models: ['chat-1'], priority: 2 },
    { id: 'other', kind: 'anthropic', base_url: spare, models: ['mixed-1'], priority: 2 },
  ];
  const { gateway, providers } = shared(() =>
    openModels<'main' | 'spare'>(['main', 'spare'], (urls) => ({ lanes: lanes(urls) }), { clock }),
  );
  let account: TestAccount;
  beforeEach(async () => {
    account = await createAccount(gateway);
    clock.advance(600_000);
    for (const provider of [providers.main, providers.spare]) {
      provider.taken.length = 0;
      provider.script = speaks;
    }
  });
  const ask = (bytes: number, fields: object = {}) =>
    http(gateway.url, '/v1/chat/completions', {
      method: 'POST',
      key: account.key,
      body: { model: 'chat-1', messages: [{ role: 'user', content: letters(bytes) }], ...fields },
    });
  /** Memory has nothing of bodies, the disk what `of` says; its files have no name that could stay. */
  const rests = (of: (bytes: number) => boolean) =>
    until(() => gateway.app.http.bodies.heldBytes() === 0 && of(gateway.app.http.bodies.spool.bytes));

  test('forty of 1 MiB wait for a lane that thinks: each is asked, and none of them is held in memory', {
    timeout: 120_000,
  }, async () => {
    const { waiting, go } = held(speaks);
    providers.main.script = waiting;
    const asking = Array.from({ length: 40 }, (_, n) => ask(mib, { stream: n % 2 === 0 }));
    await until(() => providers.main.taken.length === asking.length);
    await rests((bytes) => bytes >= 40 * mib);
    assert.deepEqual(readdirSync(join(gateway.kernel.dataDir, 'spool')), []);
    go();
    for (const { status } of await Promise.all(asking)) assert.equal(status, 200);
    await rests((bytes) => bytes === 0);
  });

  test('one that a lane failed goes to the next one as it was, translated or not', async () => {
    for (const model of ['chat-1', 'mixed-1']) {
      const { waiting, go } = held(replies({ error: { message: 'no' } }, 500));
      providers.main.script = waiting;
      const asking = ask(mib, { model, seed: 7 });
      await until(() => providers.main.taken.length === 1);
      await rests((bytes) => bytes >= mib);
      go();
      assert.equal((await asking).status, 200, model);
      const [first, next] = [providers.main.taken[0], providers.spare.taken[0]];
      assert.ok(first && next);
      assert.match(next.raw, /é/);
      if (model === 'chat-1') assert.equal(next.raw, first.raw);
      else assert.ok(next.raw.includes(JSON.stringify(letters(mib)).slice(1, -1)));
      await rests((bytes) => bytes === 0);
      for (const provider of [providers.main, providers.spare]) provider.taken.length = 0;
      clock.advance(600_000);
    }
  });

  test('a client that leaves meanwhile leaves nothing on disk', async () => {
    const { waiting, go } = held(speaks);
    providers.main.script = waiting;
    const leaving = new AbortController();
    const asking = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat-1', messages: [{ role: 'user', content: letters(mib) }] }),
      signal: leaving.signal,
    });
    await until(() => providers.main.taken.length === 1);
    await rests((bytes) => bytes >= mib);
    leaving.abort();
    await assert.rejects(asking);
    await rests((bytes) => bytes === 0);
    go();
  });
});

test('without room on disk a long request stays in memory, and is answered', async () => {
  await using opened = await openModels<'main'>(
    ['main'],
    ({ main }) => ({ lanes: [{ id: 'first', kind: 'openai', base_url: `${main}/v1`, models: ['chat-1'] }] }),
    { settings: { SVC_BODIES_DISK_MB: '0' } },
  );
  const { gateway, account, providers } = opened;
  const { waiting, go } = held(speaks);
  providers.main.script = waiting;
  const asking = http(gateway.url, '/v1/chat/completions', {
    method: 'POST',
    key: account.key,
    body: { model: 'chat-1', messages: [{ role: 'user', content: letters(mib) }] },
  });
  await until(() => providers.main.taken.length === 1);
  assert.ok(gateway.app.http.bodies.heldBytes() >= mib);
  go();
  assert.equal((await asking).status, 200);
});
