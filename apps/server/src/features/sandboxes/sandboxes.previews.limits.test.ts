import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, openTest, until } from '../../testing.ts';
import { setSuspended } from '../accounts/accounts.sql.ts';
import type { Nodes } from './nodes/nodes.ts';
import { createToken, hashOf } from './previews/address.ts';
import { insertPreview } from './previews/previews.sql.ts';
import { PreviewListener } from './previews/listener.ts';

/** A page of this process in the place of one in a sandbox: it hangs, talks on for ever, or answers. */
function createPage(): { server: Server; said: () => number; heard: () => number } {
  let [said, heard] = [0, 0];
  const server = createServer((asked, answer) => {
    heard += 1;
    if (asked.url === '/hang') return;
    if (asked.url !== '/endless') {
      asked.resume().on('end', () => answer.end('here'));
      return;
    }
    const chunk = Buffer.alloc(65_536);
    const say = (): void => {
      said += chunk.length;
      if (answer.write(chunk)) setImmediate(say);
      else answer.once('drain', say);
    };
    say();
  });
  server.on('upgrade', (_asked, socket: Socket) => {
    socket
      .on('error', () => {})
      .write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n');
    socket.pipe(socket);
  });
  return { server, said: () => said, heard: () => heard };
}

/** A listener with a page behind it, and addresses of that page. */
async function openListener() {
  await using opening = new AsyncDisposableStack();
  const clock = testClock();
  const t = opening.use(await openTest({ clock }));
  const { server, said, heard } = createPage();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opening.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const inside = (server.address() as AddressInfo).port;
  const node = { connect: () => Promise.resolve(connect(inside, '127.0.0.1')) };
  const nodes = { whenThere: (_id: string, work: (it: typeof node) => unknown) => work(node) };
  const listener = new PreviewListener(t.gateway.kernel, nodes as unknown as Nodes);
  await listener.listen();
  opening.defer(() => listener.close());
  const { sql } = t.gateway.kernel;
  const account = async () => (await createAccount(t.gateway)).id;
  const sandbox = async (accountId: string): Promise<string> => {
    const id = randomUUID();
    await sql`
      insert into sandboxes.sandboxes
        (id, account_id, key_id, state, backend, template, egress, metadata, created_at, expires_at)
      values (${id}, ${accountId}, ${randomUUID()}, 'running', 'v1', 'svc-base', '{}', '{}', ${clock.instant()},
        ${new Date(clock.now() + 86_400_000).toISOString()})`;
    return id;
  };
  const preview = async (accountId: string, sandboxId?: string): Promise<string> => {
    const token = createToken();
    const { id: keyId } =
      (await sql<{ id: string }[]>`select id from keys.keys where account_id = ${accountId}`)[0] ?? {};
    await insertPreview(sql, clock, {
      tokenHash: hashOf(token),
      accountId,
      keyId: keyId as string,
      sandboxId: sandboxId ?? (await sandbox(accountId)),
      port: 3000,
      ttlSeconds: 3_600,
    });
    return token;
  };
  const stack = opening.move();
  return {
    clock,
    kernel: t.gateway.kernel,
    port: () => listener.port as number,
    said,
    heard,
    account,
    sandbox,
    preview,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe('the listener for previews', () => {
  const t = shared(openListener);

  /** Sends a request; answers its answer. */
  const ask = (token: string, path = '/') => {
    const sent = request({
      port: t.port(),
      host: '127.0.0.1',
      path,
      headers: { host: `${token}.localhost` },
      agent: false,
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject);
    });
    answered.catch(() => {});
    sent.end();
    return answered;
  };
  const statusOf = async (token: string): Promise<number> => {
    const answer = await ask(token);
    answer.resume();
    return answer.statusCode ?? 0;
  };
  /** Agrees on WebSocket; the socket echoes. */
  const upgrade = async (token: string): Promise<Socket> => {
    const headers = { host: `${token}.localhost`, connection: 'upgrade', upgrade: 'websocket' };
    const sent = request({ port: t.port(), host: '127.0.0.1', headers }).end();
    const [, socket] = (await once(sent, 'upgrade')) as [unknown, Socket];
    socket.on('error', () => {});
    return socket;
  };
  const echoes = async (socket: Socket): Promise<void> => {
    socket.write('x');
    await once(socket, 'data');
  };
  /** A raw connection that has said `text`. */
  const say = async (text: string): Promise<Socket> => {
    const socket = connect(t.port(), '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };
  const ends = async (sockets: readonly Socket[]): Promise<void> => {
    // However it ends: `once` would fail with a reset.
    await Promise.all(
      sockets.map((socket) => socket.closed || new Promise((resolve) => socket.once('close', resolve))),
    );
  };
  /** Turns the clock as far as open connections may outlive what they came from. */
  const tenSeconds = (): void => {
    for (let second = 0; second < 10; second++) t.clock.advance(1_000);
  };

  for (const [what, over] of Object.entries({
    'its key is revoked': (id: string) =>
      t.kernel.sql`update keys.keys set status = 'revoked' where account_id = ${id}`,
    'its account is suspended': (id: string) => setSuspended(t.kernel.sql, id, true),
    'its sandbox is destroyed': (id: string) =>
      t.kernel.sql`update sandboxes.sandboxes set state = 'destroyed' where account_id = ${id}`,
  })) {
    test(`ends WebSockets and answers under way within 10 s after ${what}, and those of nobody else`, async () => {
      const [id, other] = [await t.account(), await t.account()];
      const [token, spared] = [await t.preview(id), await t.preview(other)];
      const sockets = [await upgrade(token), await upgrade(token)];
      const answer = await ask(token, '/endless');
      answer.on('error', () => {}).resume();
      const before = t.heard();
      const hanging = ask(token, '/hang');
      await until(() => t.heard() > before);
      const kept = await upgrade(spared);
      for (const socket of [...sockets, kept]) await echoes(socket);
      await over(id);
      tenSeconds();
      await ends([...sockets, answer.socket]);
      await assert.rejects(hanging);
      await echoes(kept);
      kept.destroy();
    });
  }

  test('refuses a wrong token 100 times a minute from one address, then with 429; a valid one never waits', async () => {
    const token = await t.preview(await t.account());
    const statuses = await Promise.all(Array.from({ length: 110 }, () => statusOf(createToken())));
    assert.deepEqual(new Set(statuses), new Set([403, 429]));
    assert.equal(await statusOf(createToken()), 429);
    for (let i = 0; i < 5; i++) assert.equal(await statusOf(token), 200);
    assert.equal(await statusOf('no-token'), 403, 'what is no token is not looked up');
    t.clock.advance(60_000);
    assert.equal(await statusOf(createToken()), 403);
  });

  test('ends what says nothing, or half of a request, after 10 s', async () => {
    const token = await t.preview(await t.account());
    const sockets = [await say(''), await say(`GET / HTTP/1.1\r\nhost: ${token}.localhost\r\nx-slow: `)];
    tenSeconds();
    tenSeconds();
    await ends(sockets);
  });

  test('lets nobody in by silence: of more than 256 that wait the oldest are ended, and who has a token gets through', async () => {
    const token = await t.preview(await t.account());
    const silent = await Promise.all(Array.from({ length: 300 }, () => say('GET / HTTP/1.1\r\n')));
    await until(() => silent.filter(({ closed }) => closed).length >= 44);
    assert.equal(await statusOf(token), 200);
    for (const socket of silent) socket.destroy();
  });

  test('refuses headers of more than 16 KiB', async () => {
    const token = await t.preview(await t.account());
    const socket = await say(`GET / HTTP/1.1\r\nhost: ${token}.localhost\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`);
    const [said] = (await once(socket, 'data')) as [Buffer];
    assert.match(said.toString(), /^HTTP\/1\.1 431 /);
  });

  test('has 64 connections for a preview and 128 for a sandbox, and tells who wants more to try again', async () => {
    const id = await t.account();
    const sandbox = await t.sandbox(id);
    const tokens = [await t.preview(id, sandbox), await t.preview(id, sandbox), await t.preview(id, sandbox)];
    const [first = '', second = '', third = ''] = tokens;
    const open: Socket[] = [];
    for (let i = 0; i < 64; i++) open.push(await upgrade(first));
    const refused = await ask(first);
    assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [503, '1']);
    for (let i = 0; i < 64; i++) open.push(await upgrade(second));
    assert.equal(await statusOf(third), 503);
    assert.equal(await statusOf(await t.preview(id)), 200, 'another sandbox of the account');
    for (const socket of open) socket.destroy();
    await until(async () => (await statusOf(third)) === 200);
  });

  test('ends a body that brings nothing for a minute, and what has been silent for a quarter of an hour', async () => {
    const token = await t.preview(await t.account());
    const busy = await upgrade(token);
    const quiet = await upgrade(token);
    const before = t.heard();
    const half = await say(`POST / HTTP/1.1\r\nhost: ${token}.localhost\r\ncontent-length: 10\r\n\r\nhalf`);
    await until(() => t.heard() > before);
    await echoes(quiet);
    const minute = async (): Promise<void> => {
      await echoes(busy);
      for (let i = 0; i < 20; i++) t.clock.advance(3_000);
    };
    await minute();
    await minute();
    await ends([half]);
    assert.equal(quiet.closed, false);
    for (let i = 0; i < 14; i++) await minute();
    await ends([quiet]);
    await echoes(busy);
    busy.destroy();
  });

  test('takes from a page no faster than its reader', async () => {
    const token = await t.preview(await t.account());
    const said = t.said();
    const answer = await ask(token, '/endless');
    answer.pause();
    // Waits until the buffers of four sockets are full and no more bytes flow.
    let before = -1;
    await until(() => {
      const isStill = t.said() === before;
      before = t.said();
      return new Promise((resolve) => setTimeout(resolve, 200, isStill));
    });
    assert.ok(before - said < 64 * 1_048_576, `${before - said} bytes are on their way to a reader that reads nothing`);
    answer.destroy();
  });
});
