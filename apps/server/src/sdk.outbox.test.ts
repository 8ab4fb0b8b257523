import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { type Client, createClient, openOutbox, type OutboxChange, type OutboxOptions } from '@svc/sdk';
import { fileStorage } from '@svc/sdk/file';
import { openCuts } from './testing.cuts.ts';
import { shared } from './testing.shared.ts';
import { clientOf, openTest } from './testing.ts';

const root = resolve(import.meta.dirname, '../../..');
const nowhere = 'http://127.0.0.1:9';

/** A folder of a test's own. */
function folder() {
  const path = mkdtempSync(join(tmpdir(), 'svc-outbox-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** An outbox in a folder, and what it says. */
function open(client: Client, path: string, options: OutboxOptions = {}) {
  const said: OutboxChange[] = [];
  const waiting = new Set<() => void>();
  const onChange = (change: OutboxChange): void => {
    said.push(change);
    for (const look of waiting) look();
  };
  const box = openOutbox(client, fileStorage(path), { ...options, onChange });
  /** Resolves when it has said so of an entry, or so often. */
  const until = (
    state: OutboxChange['state'],
    { times = 1, id }: { times?: number; id?: string } = {},
  ): Promise<void> =>
    new Promise((done) => {
      const look = (): void => {
        const found = said.filter((change) => change.state === state && (id === undefined || change.entry.id === id));
        if (found.length >= times) done();
      };
      waiting.add(look);
      look();
    });
  return { box, said, until, [Symbol.asyncDispose]: () => box.close() };
}

const monitor = (name: string) => ({ body: { name, period_s: 3_600 } });

describe('the outbox', () => {
  const { gateway, account } = shared(() => openTest());

  const namesOf = async (prefix: string): Promise<string[]> => {
    const names: string[] = [];
    for await (const { name } of clientOf(gateway, account.key).heartbeats.list.all()) names.push(name);
    return names.filter((name) => name.startsWith(prefix)).sort();
  };

  test('what is written without a gateway is stored, and arrives once and in order when there is one', async () => {
    using at = folder();
    {
      await using away = open(createClient({ baseUrl: nowhere, apiKey: account.key }), at.path);
      for (const n of [1, 2, 3]) await away.box.put('heartbeats.create', monitor(`later ${n}`));
      await away.until('waiting');
      assert.deepEqual([...new Set(away.said.map(({ state }) => state))].sort(), ['stored', 'waiting']);
    }
    await using back = open(clientOf(gateway, account.key), at.path);
    assert.equal((await back.box.list()).length, 3);
    await back.until('sent', { times: 3 });
    const sent = back.said.flatMap((change) => (change.state === 'sent' ? [change.answer as { name: string }] : []));
    assert.deepEqual(
      sent.map(({ name }) => name),
      ['later 1', 'later 2', 'later 3'],
    );
    assert.deepEqual(await namesOf('later'), ['later 1', 'later 2', 'later 3']);
    assert.deepEqual(await back.box.list(), []);
  });

  test('answers that are cut anywhere make one row each', async () => {
    using at = folder();
    // Before the first byte, within the head, within the body.
    await using cuts = await openCuts(gateway.url, (nth) => [0, 40, 900, 1_500][nth]);
    await using out = open(createClient({ baseUrl: cuts.url, apiKey: account.key }), at.path);
    for (const n of [1, 2, 3]) await out.box.put('heartbeats.create', monitor(`cut ${n}`));
    await out.until('sent', { times: 3 });
    assert.ok(cuts.count() > 3);
    assert.deepEqual(await namesOf('cut'), ['cut 1', 'cut 2', 'cut 3']);
  });

  test('what was deleted by an attempt whose answer was lost is sent, and not refused', async () => {
    using at = folder();
    const { id } = await clientOf(gateway, account.key).heartbeats.create(monitor('to be deleted'));
    await using cuts = await openCuts(gateway.url, (nth) => (nth === 0 ? 0 : undefined));
    await using out = open(createClient({ baseUrl: cuts.url, apiKey: account.key }), at.path);
    await out.box.put('heartbeats.remove', { params: { id } });
    await out.until('sent');
    assert.deepEqual(await namesOf('to be'), []);
    assert.deepEqual(await out.box.list(), []);
  });

  test('what is refused is kept with its reason, and the following go on', async () => {
    using at = folder();
    await using out = open(clientOf(gateway, account.key), at.path);
    const wrong = await out.box.put('heartbeats.create', { body: { name: 'refused', period_s: -1 } });
    await out.box.put('heartbeats.create', monitor('after a refusal'));
    await out.until('sent');
    const [kept, ...more] = await out.box.list();
    assert.deepEqual([kept?.id, kept?.refused?.code, more.length], [wrong.id, 'bad_request', 0]);
    assert.ok(out.said.some((change) => change.state === 'refused' && change.error.fieldErrors['period_s']));
    await out.box.dismiss(wrong.id);
    assert.deepEqual(await out.box.list(), []);
  });

  test('what another key mends waits for it, and no key is stored', async () => {
    using at = folder();
    const wrong = `svc_${'A'.repeat(38)}`;
    {
      await using out = open(createClient({ baseUrl: gateway.url, apiKey: wrong }), at.path);
      await out.box.put('heartbeats.create', monitor('another key'));
      await out.until('waiting');
      const waits = out.said.find(({ state }) => state === 'waiting') as { error: { status: number } };
      assert.equal(waits.error.status, 401);
    }
    const files = readdirSync(at.path).map((name) => readFileSync(join(at.path, name), 'utf8'));
    assert.equal(files.length, 1);
    assert.doesNotMatch(files.join(), /svc_|triedAt/);
    await using out = open(clientOf(gateway, account.key), at.path);
    await out.until('sent');
    assert.deepEqual(await namesOf('another'), ['another key']);
  });

  test('what may have been done a day ago is not done again unasked', async () => {
    using at = folder();
    {
      await using away = open(createClient({ baseUrl: nowhere, apiKey: account.key }), at.path);
      await away.box.put('heartbeats.create', monitor('a day ago'));
    }
    const [name = ''] = readdirSync(at.path).filter((one) => one.endsWith('.json'));
    const stored = JSON.parse(readFileSync(join(at.path, name), 'utf8')) as object;
    const triedAt = new Date(Date.now() - 24 * 3_600_000).toISOString();
    writeFileSync(join(at.path, name), JSON.stringify({ ...stored, triedAt }));
    await using out = open(clientOf(gateway, account.key), at.path);
    await out.until('refused');
    const [kept] = await out.box.list();
    assert.equal(kept?.refused?.code, 'maybe_sent');
    assert.deepEqual(await namesOf('a day'), []);
    await out.box.retry(kept.id);
    await out.until('sent');
    assert.deepEqual(await namesOf('a day'), ['a day ago']);
  });

  test('it has bounds, and says so before it takes more', async () => {
    using at = folder();
    const client = createClient({ baseUrl: nowhere, apiKey: account.key });
    await using out = open(client, at.path, { mostEntries: 2, mostBytes: 600 });
    await out.box.put('heartbeats.create', monitor('first'));
    await assert.rejects(out.box.put('heartbeats.create', monitor('x'.repeat(500))), { code: 'outbox_full' });
    await out.box.put('heartbeats.create', monitor('second'));
    await assert.rejects(out.box.put('heartbeats.create', monitor('third')), { code: 'outbox_full' });
    assert.equal((await out.box.list()).length, 2);
  });

  test('it takes no write that a repeat could do twice', async () => {
    using at = folder();
    await using out = open(clientOf(gateway, account.key), at.path);
    for (const operation of ['keys.list', 'sandboxes.writeFile', 'scheduler.claim', 'nothing.here'])
      await assert.rejects(out.box.put(operation as 'keys.create', { body: { name: 'x' } }), TypeError);
  });

  test('what is damaged is said, and holds up nothing', async () => {
    using at = folder();
    writeFileSync(join(at.path, '000000001-1-x.json'), '{"torn');
    await using out = open(clientOf(gateway, account.key), at.path);
    await out.box.put('heartbeats.create', monitor('behind damage'));
    await out.until('sent');
    const [kept] = await out.box.list();
    assert.equal(kept?.refused?.code, 'damaged');
    await out.box.dismiss(kept.id);
    assert.deepEqual(await out.box.list(), []);
  });

  /** A process that writes `count` monitors, says which are stored, and ends when all were sent. */
  const writer = (path: string, url: string, name: string, count: number) => {
    const script = `
      import { createClient, openOutbox } from '@svc/sdk';
      import { fileStorage } from '@svc/sdk/file';
      const own = new Set();
      let sent = 0;
      const { promise, resolve } = Promise.withResolvers();
      const onChange = ({ state, entry }) => {
        if (state === 'stored') own.add(entry.id);
        if (state === 'sent' && own.has(entry.id) && (sent += 1) === ${count}) resolve();
      };
      const box = openOutbox(createClient(), fileStorage(${JSON.stringify(path)}), { onChange });
      for (let n = 0; n < ${count}; n += 1) {
        const name = ${JSON.stringify(name)} + ' ' + String(n).padStart(3, '0');
        await box.put('heartbeats.create', { body: { name, period_s: 3600 } });
        console.log(name);
      }
      await promise;
      await box.close();`;
    const env = { ...process.env, SVC_BASE_URL: url, SVC_API_KEY: account.key };
    const stdio = ['ignore', 'pipe', 'inherit'] as ['ignore', 'pipe', 'inherit'];
    return spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: root, env, stdio });
  };

  test('a process that is killed anywhere loses nothing that it called stored, and does nothing twice', async () => {
    using at = folder();
    const stored: string[] = [];
    for (const round of [0, 1, 2, 3, 4]) {
      const child = writer(at.path, gateway.url, `killed ${round}`, 100);
      const exited = once(child, 'exit');
      for await (const line of createInterface(child.stdout)) {
        stored.push(line);
        if (stored.length % 20 === 19) child.kill('SIGKILL');
      }
      await exited;
    }
    await using out = open(clientOf(gateway, account.key), at.path);
    const last = await out.box.put('heartbeats.create', monitor('the last one'));
    // In order: what was left is sent before it.
    await out.until('sent', { id: last.id });
    const names = await namesOf('killed');
    assert.equal(new Set(names).size, names.length, 'nothing twice');
    assert.deepEqual(
      stored.filter((name) => !names.includes(name)),
      [],
    );
  });

  test('two processes on one outbox send each write once', async () => {
    using at = folder();
    await using cuts = await openCuts(gateway.url, (nth) => (nth % 3 === 0 ? 0 : undefined));
    const children = ['one', 'two'].map((name) => writer(at.path, cuts.url, `both ${name}`, 20));
    const codes = await Promise.all(children.map(async (child) => ((await once(child, 'exit')) as [number])[0]));
    assert.deepEqual(codes, [0, 0]);
    const names = await namesOf('both');
    assert.equal(names.length, 40);
    assert.equal(new Set(names).size, 40);
  });
});
