import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, afterEach, before, describe, test } from 'node:test';
import type { WebSocket } from 'ws';
import { testClock } from '../../kernel/base/clock.ts';
import { createAccount, until } from '../../testing.ts';
import { openSocket } from '../relay/relay.testing.ts';
import { execMsToday } from '../metering/metering.sql.ts';
import { type Json, openSandboxes, type SandboxesTest } from './sandboxes.testing.ts';

/** Characters. */
const mostSaid = 20_000;

/** A terminal with the end of what it said. */
function listen(socket: WebSocket) {
  let said = '';
  const texts: Json[] = [];
  socket.on('message', (data: Buffer, isBinary) => {
    // The end of it: one of these tests prints 40 MB.
    if (isBinary) said = (said + data.toString()).slice(-mostSaid);
    else texts.push(JSON.parse(data.toString()));
  });
  return {
    socket,
    texts,
    type: (text: string) => socket.send(Buffer.from(text), { binary: true }),
    resize: (cols: number, rows: number) => socket.send(JSON.stringify({ resize: { cols, rows } })),
    /** Settles once it has said so. */
    async says(pattern: RegExp): Promise<RegExpExecArray> {
      await until(() => pattern.test(said)).catch(() => assert.match(said.slice(-1_000), pattern));
      return pattern.exec(said) as RegExpExecArray;
    },
    closed: once(socket, 'close') as Promise<[number, Buffer]>,
  };
}

describe('a terminal in a sandbox', () => {
  let t: SandboxesTest;
  const clock = testClock(Date.now());

  before(async () => {
    t = await openSandboxes({ clock });
  });
  afterEach(() => t.clear());
  after(() => t.close());

  const open = async (id: string, query = '', key = t.account.key) =>
    listen(
      await openSocket(`${t.gateway.url}/v1/sandboxes/${id}/terminal${query}`, { authorization: `Bearer ${key}` }),
    );

  for (const backend of ['v1', 'v2']) {
    test(`${backend}: a shell of the user with its size, keys that stop programs, and how it ended`, async () => {
      const box = await t.create({ backend });
      const terminal = await open(box.id, '?cols=101&rows=33');
      terminal.type('stty size; id -un; tty; pwd; echo $TERM; echo a > made\r');
      await terminal.says(/33 101\s+user\s+\/dev\/pts\/\d+\s+\/workspace\s+xterm-256color/);
      terminal.resize(60, 20);
      terminal.type('stty size\r');
      await terminal.says(/20 60/);
      terminal.type('sleep 1000\r');
      await until(async () => (await t.exec(box, 'pgrep -xf "sleep 1000"')).exit_code === 0);
      terminal.type('\x03');
      terminal.type('echo after-$((40 + 2))\r');
      await terminal.says(/after-42/);
      terminal.type('exit 7\r');
      const [code] = await terminal.closed;
      assert.equal(code, 1000);
      assert.deepEqual(terminal.texts, [{ exit_code: 7, signal: null }]);
      assert.equal((await t.exec(box, 'cat made')).stdout, 'a\n');
    });
  }

  test('it runs beside a command, and its changes count as one', async () => {
    const box = await t.create();
    const terminal = await open(box.id);
    terminal.type('echo ready-$((1 + 1))\r');
    await terminal.says(/ready-2/);
    const beside = await t.exec(box, 'echo beside');
    assert.equal(beside.stdout, 'beside\n');
    terminal.type('exit\r');
    await terminal.closed;
    let after = 0;
    await until(async () => {
      after = (await t.exec(box, 'true')).receipt.generation_before;
      return after > beside.receipt.generation_after;
    });
    assert.equal(after, beside.receipt.generation_after + 1);
  });

  test('its end hangs up what it runs, and what was started to live on does', async () => {
    const box = await t.create();
    const terminal = await open(box.id);
    terminal.type('nohup sleep 4242 > /dev/null 2>&1 &\rsleep 2424\r');
    await until(async () => (await t.exec(box, 'pgrep -xf "sleep [24]{4}" | wc -l')).stdout.trim() === '2', 20_000);
    terminal.socket.terminate();
    await until(async () => (await t.exec(box, 'pgrep -xf "sleep 2424" | wc -l')).stdout.trim() === '0', 20_000);
    assert.equal((await t.exec(box, 'pgrep -xf "sleep 4242" | wc -l')).stdout.trim(), '1');
  });

  test('a reader that does not read stops the program, not the sandbox', async () => {
    const box = await t.create();
    const terminal = await open(box.id);
    terminal.socket.pause();
    terminal.type('yes | head -c 40000000; echo\r');
    assert.equal((await t.exec(box, 'echo still')).stdout, 'still\n');
    terminal.socket.resume();
    terminal.type('echo done-$((1 + 2))\r');
    await terminal.says(/done-3/);
    terminal.socket.terminate();
  });

  test('a pause ends it, and the sandbox comes back without it', async () => {
    const box = await t.create();
    const terminal = await open(box.id);
    terminal.type('echo up-$((1 + 1))\r');
    await terminal.says(/up-2/);
    assert.equal((await t.call('POST', `/v1/sandboxes/${box.id}/pause`)).status, 200);
    await terminal.closed;
    await assert.rejects(open(box.id), { status: 409, code: 'sandbox_not_running' });
    const back = await t.call('POST', `/v1/sandboxes/${box.id}/resume`);
    assert.equal(back.body.restored, true, JSON.stringify(back.body));
    const again = await open(box.id);
    again.type('echo back-$((1 + 1))\r');
    await again.says(/back-2/);
    again.socket.terminate();
  });

  test('nobody opens one in a sandbox of others, with a key that may only read, or past eight', async () => {
    const box = await t.create();
    const stranger = await createAccount(t.gateway);
    await assert.rejects(open(box.id, '', stranger.key), { status: 404 });
    const { key } = await createAccount(t.gateway, { scopes: ['sandboxes:read'] });
    await assert.rejects(open(box.id, '', key), { status: 403 });
    for (const query of ['?cols=0', '?cols=1001', '?rows=x'])
      await assert.rejects(open(box.id, query), { status: 400 });
    const many = await Promise.all(Array.from({ length: 8 }, () => open(box.id)));
    await assert.rejects(open(box.id), { status: 409, code: 'sandbox_busy', message: /close one/ });
    many[0]?.socket.terminate();
    await until(() =>
      open(box.id).then(
        (one) => one.socket.terminate() === undefined,
        () => false,
      ),
    );
    for (const { socket } of many) socket.terminate();
  });

  test('nonsense ends it with what is wrong, and every minute of it counts as a command', async () => {
    const box = await t.create();
    const { sql } = t.gateway.kernel;
    const before = await execMsToday(sql, clock, t.account.id);
    const terminal = await open(box.id);
    terminal.type('echo up-$((1 + 1))\r');
    await terminal.says(/up-2/);
    assert.ok((await execMsToday(sql, clock, t.account.id)) - before >= 60_000);
    terminal.socket.send('{"resize":{"cols":0}}');
    const [code, reason] = await terminal.closed;
    assert.deepEqual([code, /resize/.test(reason.toString())], [1008, true]);
  });
});
