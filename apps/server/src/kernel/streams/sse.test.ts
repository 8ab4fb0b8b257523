import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import fastify, { type FastifyInstance } from 'fastify';
import { PeerWatch, readSendQueues } from '../../features/hosts/hosts.sockets.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, openTest, until } from '../../testing.ts';
import { testClock } from '../base/clock.ts';
import { createEventStreams, type EventStream } from './sse.ts';

describe('event streams', () => {
  const clock = testClock();
  const streams = createEventStreams(clock);
  let app: FastifyInstance;
  let opened: EventStream[] = [];

  before(async () => {
    app = fastify();
    app.get('/', (_request, reply) => {
      opened.push(streams.open(reply, undefined));
      return reply;
    });
    await app.listen({ port: 0 });
  });
  after(async () => {
    streams.close();
    app.server.closeAllConnections();
    await app.close();
  });

  /** A raw client, so that it can stop reading. */
  async function open(): Promise<{ socket: Socket; text: () => string; stream: EventStream }> {
    opened = [];
    const socket = connect((app.server.address() as AddressInfo).port);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await until(() => opened.length === 1);
    return { socket, text: () => text, stream: opened[0] as EventStream };
  }

  test('say that they must not be stored or buffered, and carry named frames without ids', async () => {
    const { socket, text, stream } = await open();
    stream.send('exec', { text: 'two\nlines' });
    await until(() => text().includes('exec'));
    const [head = '', body = ''] = text().split('\r\n\r\n');
    assert.match(head, /content-type: text\/event-stream/i);
    assert.match(head, /cache-control: no-store/i);
    assert.match(head, /x-accel-buffering: no/i);
    assert.match(head, /x-svc-cost-estimate: pending/i);
    assert.match(body, /event: exec\ndata: \{"text":"two\\nlines"\}\n\n/);
    assert.ok(!/^id:/m.test(body));
    socket.destroy();
  });

  test('carry a ping comment every 15 s', async () => {
    const { socket, text } = await open();
    for (let i = 1; i <= 3; i++) {
      clock.advance(15_000);
      await until(() => text().split(': ping\n\n').length === i + 1);
    }
    socket.destroy();
  });

  test('close a client that falls 1,000 frames behind, and buffer nothing further', async () => {
    const { socket, stream } = await open();
    socket.pause();
    let sent = 0;
    while (stream.send('event', { filler: 'x'.repeat(500) })) sent += 1;
    assert.ok(sent >= 1_000 && sent < 1_400, String(sent));
    await until(() => stream.closed);
    socket.destroy();
  });

  test('close a client that falls 1 MiB behind, however few the frames', async () => {
    const { socket, stream } = await open();
    socket.pause();
    let bytes = 0;
    while (stream.send('event', { filler: 'x'.repeat(300 * 1024) })) bytes += 300 * 1024;
    assert.ok(bytes <= 1024 * 1024, String(bytes));
    await until(() => stream.closed);
    socket.destroy();
  });

  test('one frame of any length is taken, and a reader that is slow gets all of them in order', async () => {
    const { socket, text, stream } = await open();
    socket.pause();
    assert.ok(stream.send('event', { filler: 'x'.repeat(5 * 1024 * 1024) }));
    socket.resume();
    await until(() => text().length > 5 * 1024 * 1024);
    socket.pause();
    let sent = 0;
    while (sent < 500) {
      assert.ok(stream.send('n', { n: sent, filler: 'x'.repeat(1_000) }));
      sent += 1;
    }
    socket.resume();
    stream.end();
    await until(() => text().endsWith('0\r\n\r\n'));
    assert.deepEqual(
      [...text().matchAll(/"n":(\d+)/g)].map(([, n]) => Number(n)),
      Array.from({ length: 500 }, (_, n) => n),
    );
    socket.destroy();
  });

  test('a frame that waits for a slow reader can be taken back; one without room is refused and closes nothing', async () => {
    const { socket, text, stream } = await open();
    socket.pause();
    const filler = 'x'.repeat(400 * 1024);
    // The first fills the connection, the second waits.
    assert.ok(stream.offer('a', JSON.stringify(filler.repeat(12))));
    await until(() => stream.offer('b', '1') !== undefined || true);
    assert.equal(stream.offer('c', JSON.stringify(filler.repeat(3))), undefined);
    assert.equal(stream.closed, false);
    socket.resume();
    await until(() => text().includes('event: a'));
    await until(async () => {
      const back = stream.offer('d', '1');
      // Frames of one turn are written at its end.
      await new Promise(setImmediate);
      return back !== undefined && !back();
    });
    socket.destroy();
  });

  test('clients of an account that read nothing hold 25 MiB of large frames together; small ones still go out', async () => {
    const large = JSON.stringify('x'.repeat(11 * 1024 * 1024));
    const deaf: Awaited<ReturnType<typeof open>>[] = [];
    for (let n = 0; n < 3; n += 1) {
      const one = await open();
      one.socket.pause();
      deaf.push(one);
    }
    const taken = deaf.map(({ stream }) => stream.offer('exec', large) !== undefined);
    assert.deepEqual(taken, [true, true, false]);
    assert.ok(deaf[2]?.stream.offer('exec', '1'));
    assert.ok(deaf.every(({ stream }) => !stream.closed));
    deaf[0]?.socket.destroy();
    await until(() => deaf[0]?.stream.closed === true);
    await until(() => deaf[2]?.stream.offer('exec', large) !== undefined);
    for (const { socket } of deaf) socket.destroy();
  });

  test('tell when the client has gone, and end cleanly when the server stops', async () => {
    const first = await open();
    let closed = false;
    first.stream.onClose(() => {
      closed = true;
    });
    first.socket.destroy();
    await until(() => closed);
    const second = await open();
    streams.endAll();
    // The last chunk: the body is complete, not cut off.
    await until(() => second.text().endsWith('0\r\n\r\n'));
    second.socket.destroy();
  });
});

describe('half-open streams', () => {
  const stalled = (progress: { written: number }) =>
    ({ socketProgress: () => ({ ...progress, localPort: 1, remotePort: 2 }) }) as unknown as EventStream;

  test('are told from slow ones: no byte acknowledged for 10 s while some wait', () => {
    const watch = new PeerWatch();
    assert.ok(watch.check(stalled({ written: 100 }), new Map([['1:2', 0]]), 0));
    assert.ok(watch.check(stalled({ written: 108 }), new Map([['1:2', 8]]), 15_000), 'a ping on its way');
    assert.ok(watch.check(stalled({ written: 116 }), new Map([['1:2', 8]]), 30_000), 'the one before was acknowledged');
    assert.ok(watch.check(stalled({ written: 124 }), new Map([['1:2', 16]]), 45_000));
    assert.ok(!watch.check(stalled({ written: 132 }), new Map([['1:2', 24]]), 60_000));
  });

  test('show in the send queue of a real socket whose peer stopped reading', {
    skip: process.platform !== 'linux' && 'Linux only',
  }, async () => {
    const { createServer } = await import('node:net');
    const server = createServer((socket) => socket.pause());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(Buffer.alloc(8 * 1024 * 1024));
    await until(async () => ((await readSendQueues()).get(`${socket.localPort}:${socket.remotePort}`) ?? 0) > 0);
    socket.destroy();
    server.close();
  });
});

describe('streams of a key', () => {
  const clock = testClock();
  const { gateway } = shared(() => openTest({ clock }));

  test('end when the key expires', async () => {
    const account = await createAccount(gateway);
    // The database's clock is the real one; the gateway's is turned from where it stands.
    const inOneMinute = new Date(Date.now() + 60_000).toISOString();
    await gateway.kernel.sql`update keys.keys set expires_at = ${inOneMinute} where id = ${account.keyId}`;
    const { openHost } = await import('../../testing.ts');
    const host = await openHost(gateway, account, randomUUID());
    clock.advance(Date.now() - clock.now() + 75_000);
    await host.ended;
  });
});
