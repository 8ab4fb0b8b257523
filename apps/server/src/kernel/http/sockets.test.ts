import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { createWebSocketStream, WebSocket } from 'ws';
import { shared } from '../../testing.shared.ts';
import { http, until } from '../../testing.ts';
import { mostCarried, openFixture } from '../testing.fixture.ts';

const key = 'any';
const path = '/relay/v1/fixture/one/carry';

describe('a WebSocket of the contract', () => {
  const t = shared(() => openFixture());
  const address = (asked = path): string => t.server.url.replace('http', 'ws') + asked;

  /** Opens both ends of a stream; `client` reads nothing before it is asked to. */
  async function open(asked = path, options: WebSocket.ClientOptions = {}) {
    const carried = t.carried();
    const headers = { authorization: `Bearer ${key}` };
    const socket = new WebSocket(address(asked), { headers, ...options });
    const client = createWebSocketStream(socket);
    client.on('error', () => {});
    const closed = once(socket, 'close').then(([code]) => code as number);
    const [{ name, duplex }] = await Promise.all([carried, once(socket, 'open')]);
    return { socket, client, closed, name, duplex, [Symbol.dispose]: () => socket.terminate() };
  }

  /** The status and code of a refusal. */
  async function refusal(asked: string, headers: Record<string, string> = { authorization: `Bearer ${key}` }) {
    const socket = new WebSocket(address(asked), { headers });
    socket.on('error', () => {});
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    const body = Buffer.concat(await response.toArray()).toString();
    return [response.statusCode, JSON.parse(body).error.code] as const;
  }

  test('is refused as every other route: key, parameters, query, and by the operation itself', async () => {
    const before = t.calls();
    assert.deepEqual(await refusal(path, {}), [401, 'invalid_api_key']);
    assert.deepEqual(await refusal('/relay/v1/fixture/longer-than-ten/carry'), [400, 'bad_request']);
    assert.deepEqual(await refusal(`${path}?ping_ms=soon`), [400, 'bad_request']);
    assert.equal(t.calls(), before);
    assert.deepEqual(await refusal(`${path}?refuse=yes`), [404, 'not_found']);
    const { status, body } = await http(t.server.url, path, { key });
    assert.deepEqual([status, body.error.code], [400, 'bad_request']);
  });

  test('is one at its own path only: elsewhere an offer to upgrade is passed over', async () => {
    for (const other of [
      `${path}/more`,
      '/relay/v1/fixture/carry',
      '/relay/v1/fixture/a/b/carry',
      '/v1/fixture/a/carry',
    ])
      assert.deepEqual(await refusal(other), [404, 'not_found']);
  });

  test('has the parameter of its path, and chooses a protocol of the contract, none else', async () => {
    const carried = t.carried();
    const protocols = ['svc-token.any', 'other', 'fixture'];
    const socket = new WebSocket(address('/relay/v1/fixture/a%20b/carry?'), protocols);
    await once(socket, 'open');
    assert.deepEqual([(await carried).name, socket.protocol], ['a b', 'fixture']);
    socket.terminate();
    using other = await open();
    assert.equal(other.socket.protocol, '');
  });

  test('carries bytes both ways, whatever they are and however they are cut', async () => {
    using both = await open('/relay/v1/fixture/bytes/carry');
    const sent = randomBytes(1024 * 1024 + 7);
    const echoed: Buffer[] = [];
    let length = 0;
    both.client.on('data', (chunk: Buffer) => {
      echoed.push(chunk);
      length += chunk.length;
    });
    both.duplex.pipe(both.duplex);
    for (let at = 0; at < sent.length; at += 60_000) both.client.write(sent.subarray(at, at + 60_000));
    await until(() => length >= sent.length);
    assert.ok(Buffer.concat(echoed).equals(sent));
    both.client.end();
    await ended(both.duplex);
    assert.equal(await both.closed, 1005);
  });

  test('takes one message a turn of the loop, however many come in one packet', async () => {
    const carried = t.carried();
    const { hostname, port } = new URL(t.server.url);
    const socket = connect(Number(port), hostname);
    const head = [
      `GET ${path} HTTP/1.1`,
      `host: ${hostname}`,
      `authorization: Bearer ${key}`,
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const { duplex } = await carried;
    let [turns, messages] = [0, 0];
    const all = 5_000;
    const turn = (): void => {
      turns += 1;
      if (messages < all) setImmediate(turn);
    };
    duplex.on('data', (chunk: Buffer) => {
      if (messages === 0) turn();
      messages += chunk.length;
    });
    // Masked with zeros: binary messages of one byte.
    socket.write(Buffer.concat(Array.from({ length: all }, () => Buffer.from([0x82, 0x81, 0, 0, 0, 0, 7]))));
    await until(() => messages === all);
    assert.ok(turns > all / 4, `${turns} turns`);
    socket.destroy();
  });

  test('loses nothing that comes in one packet with the handshake', async () => {
    const carried = t.carried();
    const { hostname, port } = new URL(t.server.url);
    const socket = connect(Number(port), hostname);
    const head = [
      `GET ${path} HTTP/1.1`,
      'host: localhost',
      `authorization: Bearer ${key}`,
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
    ];
    // Masked with zeros: a binary message of five bytes.
    const frame = Buffer.concat([Buffer.from([0x82, 0x85, 0, 0, 0, 0]), Buffer.from('early')]);
    socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), frame]));
    const { duplex } = await carried;
    const [first] = (await once(duplex, 'data')) as [Buffer];
    assert.equal(first.toString(), 'early');
    socket.destroy();
  });

  test('carries HTTP/2, of which the client is the server', async () => {
    const server = createHttp2((request, response) => {
      response.writeHead(200, { 'x-asked': request.url });
      request.pipe(response);
    });
    const carried = t.carried();
    const socket = new WebSocket(address(), { headers: { authorization: `Bearer ${key}` } });
    server.emit('connection', createWebSocketStream(socket));
    const { duplex } = await carried;
    const session = connectHttp2('http://inside', { createConnection: () => duplex });
    const sent = randomBytes(3 * 1024 * 1024);
    const answers = await Promise.all(
      ['/a', '/b'].map(async (asked) => {
        const stream = session.request({ ':path': asked, ':method': 'POST' });
        stream.end(sent);
        const [headers] = (await once(stream, 'response')) as [Record<string, string>];
        return { asked: headers['x-asked'], bytes: await buffer(stream) };
      }),
    );
    for (const [at, { asked, bytes }] of answers.entries()) {
      assert.equal(asked, ['/a', '/b'][at]);
      assert.ok(bytes.equals(sent));
    }
    const closed = once(session, 'close');
    socket.terminate();
    await closed;
  });

  test('holds back a client that nobody reads, and ends one whose message is too long', async () => {
    using both = await open();
    const { socket, duplex, closed } = both;
    const message = randomBytes(60_000);
    const all = 200;
    for (let at = 0; at < all; at++) socket.send(message);
    await until(() => duplex.readableLength >= mostCarried);
    assert.ok(duplex.readableLength < 3 * mostCarried, `${duplex.readableLength} bytes wait`);
    let read = 0;
    duplex.on('data', (chunk: Buffer) => (read += chunk.length));
    await until(() => read === all * message.length);
    socket.send(randomBytes(mostCarried + 1));
    assert.equal(await closed, 1009);
    await until(() => duplex.destroyed);
  });

  test('ends when its client answers no pings, and when it left', async () => {
    using silent = await open(`${path}?ping_ms=20`, { autoPong: false });
    await ended(silent.duplex);
    assert.equal(await silent.closed, 1006);
    using gone = await open();
    gone.socket.terminate();
    await ended(gone.duplex.resume());
  });

  test('ends when the key lost its rights, and with the process', async () => {
    using revoked = await open();
    t.kernel.streams.endOf({
      accountId: '00000000-0000-4000-8000-000000000001',
      credentialId: '00000000-0000-4000-8000-000000000002',
    });
    assert.equal(await revoked.closed, 1008);
    await ended(revoked.duplex);
    await using own = await openFixture();
    const carried = own.carried();
    const headers = { authorization: `Bearer ${key}` };
    const socket = new WebSocket(own.server.url.replace('http', 'ws') + path, { headers });
    const closed = once(socket, 'close');
    const { duplex } = await carried;
    await own.endSockets();
    assert.equal((await closed)[0], 1001);
    await ended(duplex);
  });
});

const ended = (duplex: Duplex): Promise<void> => until(() => duplex.destroyed);
