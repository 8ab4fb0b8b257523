import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { describe, test } from 'node:test';
import { clientOf, createAccount, http, openTest, until } from '../../testing.ts';
import { testClock } from '../base/clock.ts';
import { UnreadAnswers } from './unread.ts';

describe('answers that nobody reads', () => {
  test('a client that left before its answer was there leaves nothing behind', () => {
    const unread = new UnreadAnswers(testClock());
    const left = Object.assign(new ServerResponse(new IncomingMessage(new Socket())), { destroyed: true });
    for (let n = 0; n < 10; n++) unread.watch('a', left, 12 * 1024 * 1024);
    unread.check('a');
  });

  test('past 32 MiB an account starts nothing new, others do; after a minute the clients are let go', async (t) => {
    const clock = testClock();
    await using own = await openTest({ clock });
    const { gateway, account } = own;
    const client = clientOf(gateway, account.key);
    const spec = { method: 'POST' as const, url: 'https://example.com', body: 'x'.repeat(900_000) };
    for (let n = 0; n < 6; n++) {
      const trigger = { type: 'event' as const, trigger_id: 'never' };
      await client.schedules.create({ body: { name: `${n}`, kind: 'http', spec, trigger } });
    }
    const sockets: Socket[] = [];
    t.after(() => sockets.map((socket) => socket.destroy()));
    const list = async (): Promise<number> =>
      (await http(gateway.url, '/v1/schedules?limit=1', { key: account.key })).status;
    // Each answer is 4.5 MiB; nobody reads one.
    await until(async () => {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').pause();
      socket.on('error', () => {});
      socket.write(`GET /v1/schedules HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n\r\n`);
      sockets.push(socket);
      return (await list()) === 429;
    });
    assert.ok(sockets.length >= 7 && sockets.length < 60, `${sockets.length} answers were held`);
    const other = await createAccount(gateway);
    assert.equal((await http(gateway.url, '/v1/schedules', { key: other.key })).status, 200);
    await until(async () => {
      clock.advance(10_000);
      return (await list()) === 200;
    });
  });
});
