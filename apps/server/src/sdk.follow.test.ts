import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { type Change, createClient, follow, type Missed } from '@svc/sdk';
import { openCuts } from './testing.cuts.ts';
import { shared } from './testing.shared.ts';
import { clientOf, createAccount, openTest, type TestGateway } from './testing.ts';

const run = promisify(execFile);
const python = spawnSync('sh', ['-c', 'command -v python3'], { encoding: 'utf8' }).stdout.trim();
const pythonSource = resolve(import.meta.dirname, '../../../packages/sdk-python/src');

/** What is yielded until one of them is the last. */
async function readUntil(following: AsyncIterable<Change | Missed>, isLast: (item: Change | Missed) => boolean) {
  const items: (Change | Missed)[] = [];
  for await (const item of following) {
    items.push(item);
    if (isLast(item)) break;
  }
  return items;
}

/** The changes that the database has after a cursor. */
async function storedAfter(gateway: TestGateway, key: string, after: string): Promise<Change[]> {
  const all: Change[] = [];
  for (let cursor = after; ; ) {
    const page = await clientOf(gateway, key).events.list({ query: { after: cursor, limit: 100 } });
    all.push(...page.events);
    if (page.events.length === 0) return all;
    ({ cursor } = page);
  }
}

const nameOf = (item: Change | Missed) => (item.topic === 'prompts' ? item.record?.prompt : undefined);
const isNamed = (name: string) => (item: Change | Missed) => nameOf(item) === name;

describe('following the changes of an account', () => {
  const { gateway } = shared(() => openTest());
  const keep = (key: string, prompt: string) => clientOf(gateway, key).prompts.create({ body: { prompt } });
  /** Within the head, within a frame, between two, in the middle of a replay. */
  const cutsAfter = [150, 900, 2_000, 5_000, 5_001, 9_000];

  test('over connections that are cut anywhere it yields what the database has, each once and in order', async () => {
    const { key } = await createAccount(gateway);
    await using cuts = await openCuts(gateway.url, (nth) => cutsAfter[nth]);
    const following = follow(createClient({ baseUrl: cuts.url, apiKey: key }), { topics: ['prompts'] });
    const writing = new AbortController();
    const reading = readUntil(following, (item) => {
      if (item.missed) writing.abort();
      return isNamed('the last')(item);
    });
    // It stands somewhere before the first write: what comes is a change, and what was is read.
    await Promise.race([reading, new Promise((resolve) => writing.signal.addEventListener('abort', resolve))]);
    for (let n = 0; n < 60; n += 1) await keep(key, `prompt ${n}`);
    await keep(key, 'the last');
    const [first, ...changes] = await reading;
    assert.equal(first?.missed, true);
    assert.equal(cuts.count(), cutsAfter.length + 1);
    assert.deepEqual(changes, await storedAfter(gateway, key, first.cursor));
    assert.equal(following.cursor, changes.at(-1)?.cursor);
  });

  test('another program goes on after the cursor of this one', async () => {
    const { key } = await createAccount(gateway);
    const client = clientOf(gateway, key);
    const { cursor: after } = await client.events.list();
    for (const name of ['one', 'two', 'three']) await keep(key, name);
    const before = follow(client, { after });
    await readUntil(before, isNamed('one'));
    const items = await readUntil(follow(client, { after: before.cursor }), isNamed('three'));
    assert.deepEqual(
      items.map((item) => item.missed ?? nameOf(item)),
      ['two', 'three'],
    );
  });

  test('a runtime whose document says nothing of its page is followed from as any other', async (t) => {
    const { key } = await createAccount(gateway);
    const client = clientOf(gateway, key);
    const { cursor: after } = await client.events.list();
    await keep(key, 'one');
    Object.assign(globalThis, { document: {} });
    t.after(() => Reflect.deleteProperty(globalThis, 'document'));
    assert.equal((await readUntil(follow(client, { after }), isNamed('one'))).length, 1);
  });

  test('a cursor that is no longer good is said to have missed something, a malformed one and a missing right end it', async () => {
    const { key } = await createAccount(gateway);
    const other = await createAccount(gateway);
    const { cursor: after } = await clientOf(gateway, other.key).events.list();
    await keep(other.key, 'of another account');
    await keep(key, 'before');
    const items: (Change | Missed)[] = [];
    for await (const item of follow(clientOf(gateway, key), { after })) {
      items.push(item);
      if (items.length === 1) await keep(key, 'since');
      else break;
    }
    assert.deepEqual(
      items.map((item) => item.missed ?? nameOf(item)),
      [true, 'since'],
    );
    const all = () => true;
    await assert.rejects(readUntil(follow(clientOf(gateway, key), { after: 'no cursor' }), all), { status: 400 });
    await assert.rejects(readUntil(follow(clientOf(gateway, `svc_${'A'.repeat(38)}`)), all), { status: 401 });
    const narrow = await createAccount(gateway, { scopes: ['prompts:read'] });
    const denied = follow(clientOf(gateway, narrow.key), { topics: ['notifications'] });
    await assert.rejects(readUntil(denied, all), { status: 403 });
  });

  test('its signal ends it, while it reads and while it waits to connect', async () => {
    const { key } = await createAccount(gateway);
    for (const url of [gateway.url, 'http://127.0.0.1:9']) {
      const abort = new AbortController();
      const onWarning = (): void => {};
      const client = createClient({
        baseUrl: url,
        apiKey: key,
        onWarning,
        fetch: (...call) => {
          queueMicrotask(() => abort.abort(new Error('enough')));
          return fetch(...call);
        },
      });
      await assert.rejects(readUntil(follow(client, {}, { signal: abort.signal }), isNamed('never')), {
        message: 'enough',
      });
    }
  });

  test('a connection that is silent for 45 s counts as lost, pings keep it', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const opened: ReadableStreamDefaultController<Uint8Array>[] = [];
    const waiting: (() => void)[] = [];
    const asked: string[] = [];
    const silent = (async (url: string, { signal }: RequestInit) => {
      asked.push(new URL(url).search);
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          opened.push(controller);
          signal?.addEventListener('abort', () => controller.error(signal.reason));
        },
      });
      waiting.shift()?.();
      return new Response(body);
    }) as typeof fetch;
    const connected = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
    const say = (text: string): void => opened.at(-1)?.enqueue(new TextEncoder().encode(text));
    const reader = follow(createClient({ fetch: silent }))[Symbol.asyncIterator]();
    let turn = connected();
    const first = reader.next();
    await turn;
    say('event: ready\ndata: {"cursor":"c1","missed":false}\n\n');
    assert.deepEqual((await first).value, { missed: true, cursor: 'c1' });
    const second = reader.next();
    for (let pings = 0; pings < 5; pings += 1) {
      await settled();
      say(': ping\n\n');
      await settled();
      t.mock.timers.tick(15_000);
    }
    assert.equal(opened.length, 1);
    turn = connected();
    t.mock.timers.tick(30_000);
    await settled();
    // The pause before the next connection.
    t.mock.timers.tick(1_000);
    await turn;
    say('event: ready\ndata: {"cursor":"c1","missed":false}\n\nevent: change\ndata: {"cursor":"c2","id":"x"}\n\n');
    assert.deepEqual((await second).value, { cursor: 'c2', id: 'x' });
    assert.deepEqual(asked, ['', '?after=c1']);
    await reader.return(undefined as never);
  });

  test('Python does the same, blocking and awaited', {
    skip: python === '' && 'no python3 on this machine',
  }, async () => {
    for (const isAsync of [false, true]) {
      const { key } = await createAccount(gateway);
      await using cuts = await openCuts(gateway.url, (nth) => cutsAfter[nth]);
      const { cursor: after } = await clientOf(gateway, key).events.list();
      const [async_, of, name] = isAsync ? ['async ', 'Async', 'async_follow'] : ['', '', 'follow'];
      const program = `
import asyncio, json
from svc_sdk import ${of}Client as Client, ${name} as follow
${async_}def main():
    items = []
    ${async_}for item in follow(Client(), ["prompts"], after=${JSON.stringify(after)}):
        items.append(item)
        if item.get("missed") or item["record"]["prompt"] == "the last":
            return items
print(json.dumps(${isAsync ? 'asyncio.run(main())' : 'main()'}))`;
      const env = { ...process.env, PYTHONPATH: pythonSource, PYTHONDONTWRITEBYTECODE: '1' };
      const reading = run(python, ['-c', program], { env: { ...env, SVC_BASE_URL: cuts.url, SVC_API_KEY: key } });
      for (let n = 0; n < 60; n += 1) await keep(key, `prompt ${n}`);
      await keep(key, 'the last');
      assert.deepEqual(JSON.parse((await reading).stdout), await storedAfter(gateway, key, after));
      assert.equal(cuts.count(), cutsAfter.length + 1);
    }
  });
});

/** Lets what is ready run; timers stand still. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
