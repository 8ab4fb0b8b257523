import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { openTest, until } from '../../testing.ts';
import { testClock } from '../base/clock.ts';

const mib = 1024 * 1024;

describe('bodies of refused requests', () => {
  const clock = testClock();
  const { gateway, account } = shared(() => openTest({ clock }));

  /** A connection that has sent the head of a `POST`, and reads nothing until it is asked to. */
  async function begin(path: string, headers: Record<string, string | number>): Promise<Socket> {
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port)).setEncoding('utf8').pause();
    await once(socket, 'connect');
    const lines = Object.entries({ host: 'x', 'content-type': 'application/json', ...headers });
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    return socket;
  }
  const key = (): Record<string, string> => ({ authorization: `Bearer ${account.key}` });
  const write = (socket: Socket, bytes: number): Promise<void> =>
    new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.write(Buffer.alloc(bytes, 0x20), () => resolve());
    });
  /** The text received until `isWhole` accepts it. */
  async function read(socket: Socket, isWhole: (text: string) => boolean): Promise<string> {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.resume();
    await until(() => isWhole(text));
    return text;
  }
  const isEnvelope = (text: string): boolean => text.endsWith('}}');

  for (const [what, path, bytes, headers, status] of [
    ['a body over 12 MiB', '/v1/keys', 14 * mib, key, 413],
    ['a body with a key that is none', '/v1/keys', 11 * mib, () => ({ authorization: 'Bearer nothing' }), 401],
  ] as const) {
    test(`${what} is answered to a client that reads only when all is written`, async () => {
      const socket = await begin(path, { ...headers(), 'content-length': bytes });
      await write(socket, bytes);
      const text = await read(socket, isEnvelope);
      assert.equal(text.slice(0, 13), `HTTP/1.1 ${status} `);
      if (/^connection: close/im.test(text)) return until(() => socket.closed);
      // Else the connection is as good as before.
      socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
      await read(socket, (more) => more.startsWith('HTTP/1.1 200 '));
      socket.destroy();
    });
  }

  test('a client that waits for 100 Continue hears of a refusal before it sends anything', async () => {
    const declared = { expect: '100-continue', 'content-length': 13 * mib };
    const socket = await begin('/v1/keys', { ...key(), ...declared });
    const text = await read(socket, isEnvelope);
    assert.match(text, /^HTTP\/1\.1 413 .*\r\n[^]*connection: close\r\n/i);
    const ended = once(socket, 'close');
    await until(() => (clock.advance(5_000), socket.destroyed || socket.readableEnded));
    socket.end();
    await ended;
  });

  test('a client that waits for 100 Continue gets it when its body is wanted', async () => {
    const body = JSON.stringify({ name: 'waited' });
    const socket = await begin('/v1/keys', { ...key(), expect: '100-continue', 'content-length': body.length });
    await read(socket, (text) => text === 'HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(body);
    assert.match(await read(socket, (text) => text.includes('waited')), /^HTTP\/1\.1 201 /);
    socket.destroy();
  });

  test('a body without an end is read past for 16 MiB, and then its connection ends', async () => {
    const socket = await begin('/v1/keys', { 'transfer-encoding': 'chunked' });
    socket.on('error', () => {});
    const piece = Buffer.from(`10000\r\n${'x'.repeat(0x10000)}\r\n`);
    let sent = 0;
    while (!socket.destroyed && sent < 200 * mib) {
      if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
      sent += 0x10000;
    }
    assert.ok(sent > 16 * mib && sent < 64 * mib, `${sent} bytes`);
  });

  test('a body that comes too slowly after its refusal is waited for 5 s', async () => {
    const socket = await begin('/v1/keys', { 'content-length': mib });
    const ended = once(socket.resume(), 'close');
    socket.on('error', () => {});
    await until(() => (clock.advance(1_000), socket.destroyed));
    await ended;
  });
});
