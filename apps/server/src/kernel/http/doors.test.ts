import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { http, until } from '../../testing.ts';
import { Doors } from './doors.ts';

/** Opens a server by doors; `port` 0: any. */
async function openServer(port = 0, host = '127.0.0.1') {
  const server = createServer((_request, response) => response.end('here'));
  const doors = new Doors();
  await doors.open(server, { port, host });
  const { port: opened } = server.address() as AddressInfo;
  return {
    server,
    doors,
    port: opened,
    async [Symbol.asyncDispose]() {
      void doors.close();
      server.closeAllConnections();
      if (server.listening) server.close();
      await Promise.resolve();
    },
  };
}

describe('the doors of a server', { skip: process.platform !== 'linux' && 'one listener elsewhere' }, () => {
  test('let in more than one newcomer in a turn of the loop, and each is answered', async () => {
    await using opened = await openServer();
    let came = 0;
    opened.server.on('connection', () => (came += 1));
    const clients = Array.from({ length: 96 }, () => connect(opened.port, '127.0.0.1'));
    // Turns in which nobody came tell that the kernel was late.
    let turns = 0;
    for (let before = 0; came < clients.length; before = came) {
      await turn();
      if (came > before) turns += 1;
    }
    assert.ok(turns < clients.length / 2, `${clients.length} in ${turns} turns`);
    for (const client of clients) client.destroy();
    assert.equal((await http(`http://127.0.0.1:${opened.port}`, '/')).body, 'here');
  });

  test('of two servers that want one port the second is told that it is in use', async () => {
    await using first = await openServer();
    await assert.rejects(openServer(first.port), { code: 'EADDRINUSE' });
  });

  test('wait at their end for what came in by any of them', async () => {
    const opened = await openServer();
    const answers: (() => void)[] = [];
    opened.server.removeAllListeners('request');
    opened.server.on('request', (_request, response) => answers.push(() => response.end('late')));
    const asked = Array.from({ length: 24 }, () => http(`http://127.0.0.1:${opened.port}`, '/'));
    await until(() => answers.length === asked.length);
    let isOver = false;
    opened.server.close();
    const over = opened.doors.close().then(() => (isOver = true));
    await turn();
    assert.equal(isOver, false);
    for (const answer of answers) answer();
    assert.deepEqual(new Set((await Promise.all(asked)).map(({ body }) => body)), new Set(['late']));
    opened.server.closeIdleConnections();
    await over;
  });

  test('are closed together: nobody comes in by another one while the server ends', async () => {
    const opened = await openServer();
    await opened[Symbol.asyncDispose]();
    for (let n = 0; n < 32; n += 1)
      await assert.rejects(once(connect(opened.port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
  });
});

/** Whether this machine has the loopback address of IPv6. */
const hasSix = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

for (const host of ['127.0.0.1', '0.0.0.0'])
  describe(`a server at ${host}`, { skip: !hasSix && 'no ::1 on this machine' }, () => {
    test('is reached at ::1 too, as localhost is both, and no more once it is closed', async () => {
      const opened = await openServer(0, host);
      assert.equal((await http(`http://[::1]:${opened.port}`, '/')).body, 'here');
      await opened[Symbol.asyncDispose]();
      await assert.rejects(once(connect(opened.port, '::1'), 'connect'), { code: 'ECONNREFUSED' });
    });

    test('is not opened where another program has its port at ::1: browsers would go there', async () => {
      await using first = await openServer(0, host);
      const { port } = first;
      await first.doors.close();
      first.server.close();
      const other = createServer().listen(port, '::1');
      await once(other, 'listening');
      await assert.rejects(openServer(port, host), { code: 'EADDRINUSE' });
      other.close();
    });
  });
