import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, until } from '../../testing.ts';
import { testClock } from '../base/clock.ts';
import { Bodies } from './bodies.ts';
import { JsonScanner } from './json.ts';
import { Spool } from './spool.ts';

const mib = 1024 * 1024;
const limits = { bytes: 72 * mib, bytesOfOne: 25 * mib, diskBytes: 0 };
const unending = new AbortController().signal;
const bodiesOf = (clock = testClock()): Bodies => new Bodies(clock, limits, new Spool('', 0));

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

  test('of large bodies that are there at once one is read in a turn of the loop', async (context) => {
    const read: number[] = [];
    let turn = 0;
    const turning = { isOver: false };
    const next = (): void => {
      turn += 1;
      if (!turning.isOver) setImmediate(next);
    };
    const { parse } = JsonScanner.prototype;
    context.mock.method(JsonScanner.prototype, 'parse', function (this: JsonScanner, bytes: Buffer) {
      read.push(turn);
      return parse.call(this, bytes);
    });
    const { bodies } = gateway.app.http;
    const sent = Array.from({ length: 8 }, () => halfSent(account.key, 100_000, 100_002));
    await until(() => bodies.heldBytes() >= 8 * 100_000);
    await until(() => sent.every(({ socket }) => socket.writableLength === 0));
    next();
    for (const { socket } of sent) socket.write('"}');
    await until(() => sent.every(({ answer }) => answer() !== ''));
    turning.isOver = true;
    for (const { socket } of sent) socket.destroy();
    assert.equal(read.length, 8);
    assert.equal(new Set(read).size, 8, read.join());
  });

  test('a large body waits for room in its account’s 16 MiB for 10 s, then 429; others are served meanwhile', async () => {
    const { socket } = halfSent(account.key, 11 * mib);
    const pad = (bytes: number) => JSON.stringify({ name: 'x', pad: 'p'.repeat(bytes) });
    const large = (key: string) => http(gateway.url, '/v1/keys', { key, raw: pad(5 * mib) });
    await until(() => gateway.app.http.bodies.heldBytes() >= 11 * mib);
    const waits = large(account.key);
    const settled = waits.then(() => true);
    assert.equal(await Promise.race([settled, http(gateway.url, '/health').then(() => false)]), false);
    await until(async () => {
      clock.advance(1_000);
      return Promise.race([settled, http(gateway.url, '/health').then(() => false)]);
    });
    const refused = await waits;
    assert.deepEqual([refused.body.error.code, refused.headers.get('retry-after')], ['rate_limit_exceeded', '1']);
    assert.equal((await http(gateway.url, '/v1/keys', { key: account.key, body: { name: 'small' } })).status, 201);
    const other = await createAccount(gateway);
    assert.equal((await large(other.key)).status, 201);
    const [first, ...further] = [large(account.key), large(account.key), large(account.key)];
    socket.destroy();
    for (const one of [first, ...further]) assert.equal((await one)?.status, 201);
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
    const bodies = bodiesOf();
    for (const owner of ['a', 'b', 'c']) bodies.hold(owner, 21 * mib);
    assert.throws(() => bodies.hold('a', 5 * mib), { code: 'rate_limit_exceeded' });
    assert.throws(() => bodies.hold('d', 2 * mib), { code: 'unavailable' });
    bodies.release('b', 21 * mib);
    bodies.hold('d', 21 * mib);
    for (const owner of ['a', 'c', 'd']) bodies.release(owner, 21 * mib);
    bodies.hold('a', 25 * mib);
  });

  test('small bodies find room when large ones have taken theirs', () => {
    const bodies = bodiesOf();
    for (const owner of ['a', 'b', 'c']) bodies.hold(owner, 21 * mib);
    const never = () => assert.fail();
    assert.throws(() => bodies.hold('d', 2 * mib), { code: 'unavailable' });
    for (let n = 0; n < 100; n += 1) void bodies.came(bodies.begin('d', never), 60 * 1024, 12 * mib, unending);
  });

  test('after 1 s without room the body goes that held most for longest, of an account that holds more than who waits', async () => {
    const clock = testClock();
    const bodies = bodiesOf(clock);
    const ended: string[] = [];
    const begin = (owner: string, name: string, bytes: number) => {
      const coming = bodies.begin(owner, () => {
        ended.push(name);
        bodies.leave(coming);
      });
      return bodies.enter(coming, bytes, unending).then(() => bodies.came(coming, bytes, bytes, unending));
    };
    await begin('a', 'a: old', 10 * mib);
    clock.advance(10_000);
    await begin('a', 'a: new', 12 * mib);
    await begin('b', 'b: new', 22 * mib);
    await begin('c', 'c: whole', 15 * mib);
    const d = begin('d', 'd', 6 * mib);
    clock.advance(900);
    assert.deepEqual(ended, []);
    clock.advance(100);
    await d;
    assert.deepEqual(ended, ['a: old']);
    const over = begin('b', 'b: over', 13 * mib);
    clock.advance(10_000);
    await assert.rejects(over, { code: 'rate_limit_exceeded' });
    assert.equal(bodies.heldBytes(), 55 * mib);
    await begin('e', 'e', 9 * mib);
    const more = begin('b', 'b: more', 3 * mib);
    clock.advance(10_000);
    await assert.rejects(more, { code: 'unavailable' }, 'nobody holds more than it would');
    assert.deepEqual(ended, ['a: old']);
  });

  test('of those that wait the account goes first that holds least, of one account who came first', async () => {
    const bodies = bodiesOf();
    for (const owner of ['a', 'b', 'c']) bodies.hold(owner, 21 * mib);
    const order: string[] = [];
    const wait = (owner: string, name: string, bytes: number) =>
      bodies.wait(owner, bytes, unending).then(() => void order.push(name));
    const all = [wait('a', 'a1', 4 * mib), wait('a', 'a2', mib), wait('d', 'd1', 12 * mib), wait('d', 'd2', 12 * mib)];
    const leaving = new AbortController();
    const left = bodies.wait('d', mib, leaving.signal);
    leaving.abort();
    await assert.rejects(left, { code: 'bad_request' });
    for (const [n, owner] of ['b', 'c', 'a'].entries()) {
      bodies.release(owner, 21 * mib);
      await until(() => order.length === n + 2);
    }
    await Promise.all(all);
    assert.deepEqual(order, ['d1', 'a1', 'd2', 'a2']);
  });

  test('large bodies of one account come at 32 MiB a second after 64 MiB at once; those of another do not wait for it', async () => {
    const clock = testClock();
    const bodies = bodiesOf(clock);
    let came = 0;
    const send = async (owner: string): Promise<void> => {
      await bodies.wait(owner, 8 * mib, unending);
      came += 1;
      bodies.release(owner, 8 * mib);
    };
    const all = Array.from({ length: 12 }, () => send('a'));
    await until(() => came === 9);
    await send('b');
    assert.equal(came, 10);
    for (const more of [11, 12, 13]) {
      clock.advance(249);
      await new Promise(setImmediate);
      assert.equal(came, more - 1);
      clock.advance(1);
      await until(() => came === more);
    }
    await Promise.all(all);
  });

  test('a body that is slower than 1 kB a second is ended with its reason', async () => {
    const { socket, answer } = halfSent(account.key, 2_000);
    await until(() => gateway.app.http.bodies.heldBytes() >= 2_000);
    const sending = setInterval(() => socket.write('y'), 5);
    try {
      await until(() => {
        clock.advance(5_000);
        return answer() !== '';
      });
    } finally {
      clearInterval(sending);
    }
    assert.match(answer(), /^HTTP\/1\.1 400 [^]*slower than 1000 bytes a second/);
    socket.destroy();
    await until(() => gateway.app.http.bodies.heldBytes() === 0);
  });

  test('a route without a key takes 64 KiB', async () => {
    const raw = JSON.stringify({ code: 'x', device: { id: account.id, name: 'x' }, pad: 'p'.repeat(65_536) });
    const answer = await http(gateway.url, '/v1/hosts/invites/redeem', { raw });
    assert.deepEqual([answer.status, answer.body.error.code], [413, 'payload_too_large']);
    assert.match(answer.body.error.message, /over 64 KiB/);
  });
});
