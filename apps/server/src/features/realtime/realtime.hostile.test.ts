import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { shared } from '../../testing.shared.ts';
import type { Db } from '../../kernel/db/db.ts';
import { asOwner, createAccount, http, openTest, until } from '../../testing.ts';
import { waitingFor } from '../../testing.locks.ts';
import { providersFile } from '../inference/inference.testing.ts';
import { TestRealtime } from './realtime.testing.ts';

describe('realtime under attack', () => {
  const provider = new TestRealtime();
  const { gateway, second, database } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(provider).listen();
    process.env['TEST_REALTIME_KEY'] = 'lane-secret';
    opening.defer(() => void delete process.env['TEST_REALTIME_KEY']);
    const lane = { id: 'only', kind: 'openai', models: ['voice'], api_key_env: 'TEST_REALTIME_KEY' };
    const file = opening.use(providersFile({ lanes: [{ ...lane, base_url: provider.url }] }));
    const t = opening.use(await openTest({ gateways: 2, settings: { SVC_PROVIDERS: file.path } }));
    const all = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });

  const shape = ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13'];
  function dial(key: string, headers = shape, version = '1.1') {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => {});
    const head = [
      `GET /v1/realtime?model=voice HTTP/${version}`,
      'Host: x',
      'Connection: Upgrade',
      'Upgrade: websocket',
      `Authorization: Bearer ${key}`,
      ...headers,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    return socket;
  }
  const open = async (key: string, at = gateway) => {
    const socket = new WebSocket(`${at.url.replace('http', 'ws')}/v1/realtime?model=voice`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await once(socket, 'open');
    return socket;
  };
  /** A key whose spend is reserved. */
  const cappedKey = async (): Promise<string> => {
    const { key } = await createAccount(gateway);
    const body = { name: 'capped', spend_cap_micro_usd: 1_000_000_000 };
    return (await http(gateway.url, '/v1/keys', { key, body })).body.key;
  };
  const hasReservations = async (): Promise<boolean> =>
    (await gateway.kernel.sql`select 1 from keys.reservations limit 1`).length > 0;

  test('a handshake that is malformed gets a 400 and its connection ends, before a lane is asked', async () => {
    const { key } = await createAccount(gateway);
    const asked = provider.requests.length;
    const [good = '', version = ''] = shape;
    const all: [string[], string?][] = [
      [[version]],
      [['Sec-WebSocket-Key: abc', version]],
      [[good]],
      [[good, 'Sec-WebSocket-Version: 99']],
      [[good, version, 'Sec-WebSocket-Protocol: a, a']],
      [[good, version, 'Sec-WebSocket-Protocol: @@,']],
      [shape, '1.0'],
    ];
    for (const [headers, http] of all) {
      const chunks = await dial(key, headers, http).toArray();
      assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 400 .*"code":"bad_request"/s, headers.join());
    }
    assert.equal(provider.requests.length, asked);
  });

  test('a message of a depth that no stack bears ends its own session and nothing else', async () => {
    const { key } = await createAccount(gateway);
    const other = await open(key);
    const socket = await open(key);
    const heard: string[] = [];
    socket.on('message', (data: Buffer) => heard.push(data.toString()));
    const deep = `${'{"0":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    socket.send(`{"type":"session.update","session":{"model":"x","a":${deep}}}`);
    assert.equal((await once(socket, 'close'))[0], 1008);
    assert.match(heard.at(-1) ?? '', /"bad_request".*100 deep/);
    assert.equal((await http(gateway.url, '/health')).status, 200);
    assert.equal(other.readyState, other.OPEN);
    other.terminate();
    await until(() => provider.sockets.size === 0);
  });

  test('a message that is no JSON as UTF-8 reaches no lane: it could be read there as another one', async () => {
    const { key } = await createAccount(gateway);
    const named = '{"type":"session.update","session":{"model":"other"}}';
    const utf16 = Buffer.from(named, 'utf16le');
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(named)]);
    const broken = Buffer.from([0x7b, 0xff, 0x7d]);
    for (const [bytes, binary] of [
      [utf16, true],
      [marked, true],
      [marked, false],
      [broken, true],
      [Buffer.from('hello'), false],
      [Buffer.from('[]'), false],
    ] as const) {
      const socket = await open(key);
      provider.heard.length = 0;
      const closed = once(socket, 'close');
      socket.send(bytes, { binary });
      assert.equal((await closed)[0], 1008);
      assert.deepEqual(provider.heard, []);
    }
  });

  test('of clients that vanish at any moment nothing stays: no socket, no reservation', async () => {
    const key = await cappedKey();
    const gone = Array.from({ length: 300 }, async (_, at) => {
      const socket = dial(key);
      await once(socket, 'connect');
      // Some before they were heard, some in the middle of the handshake, some after it.
      for (let turns = at % 60; turns > 0 && !socket.readableLength; turns--)
        await new Promise((resolve) => setImmediate(resolve));
      socket.resetAndDestroy();
    });
    await Promise.all(gone);
    await until(async () => provider.sockets.size === 0 && !(await hasReservations()));
  });

  test('who leaves while its reservation is made opens no lane', async () => {
    const key = await cappedKey();
    const asked = provider.requests.length;
    const lockAll = (tx: Db) => tx`lock table keys.reservations in access exclusive mode`;
    await asOwner(database, (sql) =>
      sql.begin(async (tx) => {
        await lockAll(tx);
        const socket = dial(key);
        await until(async () => (await waitingFor(tx, 'keys.reservations')) > 0);
        socket.resetAndDestroy();
        await once(socket, 'close');
        // Its end was heard before this was answered.
        await http(gateway.url, '/health');
      }),
    );
    await until(async () => !(await hasReservations()));
    assert.equal(provider.requests.length, asked);
  });

  test('a session that opens while the gateway stops is refused, and one that is open hears why', async () => {
    const { key } = await createAccount(second);
    const talk = await open(key, second);
    const closed = once(talk, 'close');
    const asked = provider.requests.length;
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.holds = promise;
    const late = new WebSocket(`${second.url.replace('http', 'ws')}/v1/realtime?model=voice`, {
      headers: { authorization: `Bearer ${key}` },
    });
    late.on('error', () => {});
    const refused = once(late, 'unexpected-response');
    await until(() => provider.requests.length > asked);
    const stopped = second.close();
    assert.equal((await closed)[0], 1001);
    provider.holds = undefined;
    resolve();
    assert.equal((await refused)[1].statusCode, 503);
    await stopped;
    await until(() => provider.sockets.size === 0);
  });
});
