import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, get, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { describe, test, type TestContext } from 'node:test';
import { until } from '../../testing.ts';
import { testClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { createMetrics } from '../base/metrics.ts';
import { guardConnections } from './connections.ts';

/** A server that takes `most` connections. Each address of the loopback range is a network of its own. */
async function serve(t: TestContext, most: number, answer: RequestListener = (_, response) => void response.end('ok')) {
  const lines: string[] = [];
  const clock = testClock();
  const write = (line: Buffer, _: string, done: () => void): void => {
    lines.push(line.toString());
    done();
  };
  const log = createLog('info', new Writable({ write }), clock);
  const metrics = createMetrics();
  const server = createServer(answer);
  guardConnections(server, { log, clock, metrics, trustedProxies: [], most });
  await once(server.listen(0, '0.0.0.0'), 'listening');
  const { port } = server.address() as AddressInfo;
  const opened: Socket[] = [];
  t.after(() => {
    for (const socket of opened) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  const open = async (text: string, from = '127.0.0.1'): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    opened.push(socket.on('error', () => {}));
    await once(socket, 'connect');
    if (text !== '') socket.write(text);
    return socket;
  };
  const ask = async (agent?: Agent): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    get({ port, host: '127.0.0.1', path: '/', agent: agent ?? false }, (response) => {
      response.setEncoding('utf8').once('data', resolve).resume();
    }).on('error', reject);
    return promise;
  };
  const metric = async (name: string): Promise<string> => {
    const found = (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(name));
    return found.join('\n');
  };
  return { server, open, ask, opened, lines, clock, metric };
}

describe('connections', () => {
  test('of one address, a thousand that come at once and ask are all answered', async (t) => {
    const { ask, metric } = await serve(t, 4_000);
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => ask()));
    assert.deepEqual(new Set(answers), new Set(['ok']));
    assert.equal(await metric('svc_http_connections_ended_total{'), '');
  });

  test('that say nothing keep nobody out: the oldest of them go, and only when there is no room', async (t) => {
    const { open, ask, opened, lines, metric } = await serve(t, 100);
    const gone = () => opened.filter(({ destroyed }) => destroyed).length;
    for (let n = 0; n < 30; n += 1) await open('GET / HTTP/1.1\r\nhost: ');
    assert.equal(await ask(), 'ok');
    assert.deepEqual([gone(), lines], [0, []]);
    for (let n = 0; n < 300; n += 1) {
      await open(n % 2 === 0 ? '' : 'GET / HTTP/1.1\r\nhost: ');
      if (n % 20 === 0) assert.equal(await ask(), 'ok', `after ${n}`);
    }
    await until(() => gone() >= 200);
    assert.ok(opened.slice(0, 200).every(({ destroyed }) => destroyed) && !opened.at(-1)?.destroyed);
    assert.equal(lines.length, 1, 'one line a minute');
    assert.match(lines[0] ?? '', /"why":"silent","network":"127\.0\.0\.1","open":\d+,"most":100/);
    assert.match(await metric('svc_http_connections_ended_total{'), /^\S+why="silent"} [2-9]\d\d$/);
    assert.match(await metric('svc_http_connections_silent'), /^svc_http_connections_silent \d\d$/);
  });

  test('of who holds few stay when another one takes all the room', async (t) => {
    const { open, opened, ask } = await serve(t, 100);
    const few: Socket[] = [];
    for (let n = 0; n < 5; n += 1) few.push(await open('', '127.0.0.3'));
    for (let n = 0; n < 200; n += 1) await open('', '127.0.0.2');
    assert.equal(await ask(), 'ok');
    await until(() => opened.filter(({ destroyed }) => destroyed).length >= 100);
    assert.ok(few.every(({ destroyed }) => !destroyed));
  });

  test('that rest between two requests go next, those at work never', async (t) => {
    const stuck = Promise.withResolvers<void>();
    const { open, opened, metric, ask } = await serve(t, 80, (request, response) => {
      if (request.url === '/long') void stuck.promise.then(() => response.end('long'));
      else response.end('ok');
    });
    const long = await open('GET /long HTTP/1.1\r\nhost: a\r\n\r\n');
    let said = '';
    long.setEncoding('utf8').on('data', (text) => void (said += text));
    for (let n = 0; n < 120; n += 1) {
      const socket = await open('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
      await once(socket, 'data');
    }
    assert.equal(await ask(), 'ok');
    assert.match(await metric('svc_http_connections_ended_total{'), /why="resting"} \d+$/);
    assert.ok(opened.slice(1, 60).every(({ destroyed }) => destroyed));
    stuck.resolve();
    await until(() => said.endsWith('long'));
  });

  test('at work in all places: the newcomer is refused, which is told', async (t) => {
    const { open, server, metric } = await serve(t, 70, () => {});
    for (let n = 0; n < 70; n += 1) await open('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await until(async () => (await metric('svc_http_connections_silent')).endsWith(' 0'));
    const refused = await open('');
    if (!refused.destroyed) await once(refused, 'close');
    await until(async () => (await metric('svc_http_connections_ended_total{')).includes('why="refused"} 1'));
    assert.equal(server.listening, true);
  });
});
