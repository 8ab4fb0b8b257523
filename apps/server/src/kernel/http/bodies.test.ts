import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, until } from '../../testing.ts';
import { testClock } from '../clock.ts';
import { Bodies } from './bodies.ts';

const mib = 1024 * 1024;

describe('bodies', () => {
  const clock = testClock();
  const { gateway, account } = shared(() => openTest({ clock }));

  /** A request whose body stops after `sent` bytes of those it announces. */
  function halfSent(key: string, sent: number, announced = 12 * mib): { socket: Socket; answer: () => string } {
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port));
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', () => {});
    const head = `POST /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;
    socket.write(`${head}content-length: ${announced}\r\n\r\n{"name":"${'x'.repeat(sent - 9)}`);
    return { socket, answer: () => answer };
  }

  test('values inside of each other more than 100 deep are a 400 on every route, before anything is made of them', async () => {
    const bodies = [
      '['.repeat(mib),
      `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`,
      `{"name":"x","scopes":${'['.repeat(101)}${']'.repeat(101)}}`,
      `[${'[],'.repeat(mib)}1]`,
    ];
    for (const raw of bodies) {
      const headers = { 'idempotency-key': 'deep' };
      const answer = await http(gateway.url, '/v1/keys', { key: account.key, raw, headers });
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request']);
      assert.match(answer.body.error.message, /100 deep|250,000 values/);
    }
  });

  test('an account that holds 25 MiB of bodies is a 429 until it lets go, and others are served meanwhile', async () => {
    const held = [halfSent(account.key, 11 * mib), halfSent(account.key, 11 * mib)];
    const pad = (bytes: number) => JSON.stringify({ name: 'x', pad: 'p'.repeat(bytes) });
    const large = (key: string) => http(gateway.url, '/v1/keys', { key, raw: pad(4 * mib) });
    await until(() => gateway.app.http.bodies.heldBytes() >= 22 * mib);
    const refused = await large(account.key);
    assert.deepEqual([refused.body.error.code, refused.headers.get('retry-after')], ['rate_limit_exceeded', '1']);
    assert.equal((await http(gateway.url, '/v1/keys', { key: account.key, body: { name: 'small' } })).status, 201);
    const other = await createAccount(gateway);
    assert.equal((await large(other.key)).status, 201);
    for (const { socket } of held) socket.destroy();
    await until(async () => (await large(account.key)).status === 201);
  });

  test('a body that brings nothing for a minute is ended, and what it held is let go', async () => {
    const { socket, answer } = halfSent(account.key, mib);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await until(() => socket.bytesWritten > mib);
    // Its bytes have been read once a request that came later is answered.
    await http(gateway.url, '/health');
    clock.advance(55_000);
    await http(gateway.url, '/health');
    assert.equal(socket.destroyed, false);
    await until(() => {
      clock.advance(5_000);
      return socket.destroyed;
    });
    await closed;
    assert.equal(answer(), '');
  });

  test('what all accounts hold is bounded too, and let go to the byte', () => {
    const bodies = new Bodies(testClock());
    for (const owner of ['a', 'b', 'c']) bodies.hold(owner, 24 * mib);
    assert.throws(() => bodies.hold('a', 2 * mib), { code: 'rate_limit_exceeded' });
    assert.throws(() => bodies.hold('d', 1), { code: 'unavailable' });
    bodies.release('b', 24 * mib);
    bodies.hold('d', 24 * mib);
    for (const owner of ['a', 'c', 'd']) bodies.release(owner, 24 * mib);
    bodies.hold('a', 25 * mib);
  });
});
