import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { systemClock, testClock } from '../base/clock.ts';
import { createOutbound, type OutboundError, type OutboundRequest } from './outbound.ts';
import { trustCertificate } from '../../testing.tls.ts';

/** Listens on a port of this machine; disposing ends its connections too. */
async function listening(server: Server): Promise<AsyncDisposable & { port: number }> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const resolve = async (host: string): Promise<string[]> => {
  if (host === 'hangs.test') return new Promise(() => {});
  throw Object.assign(new Error(`no ${host} at 10.1.2.3`), { code: 'ENOTFOUND' });
};
const clientFor = (fetchPorts: number[], clock = systemClock) =>
  createOutbound({ fetchAllowHosts: ['127.0.0.1'], fetchPorts }, clock, { public: resolve, here: resolve });

describe('outbound: what is told of a failure, and answers whose body nobody wants', () => {
  test('a failure says whether name, connection or TLS is at fault, and no address', async () => {
    using certificate = trustCertificate();
    const { key, cert } = certificate;
    await using trusted = await listening(createServer({ key, cert }));
    await using plain = await listening(createTcpServer((socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n')));
    const closed = await listening(createTcpServer());
    await closed[Symbol.asyncDispose]();
    certificate[Symbol.dispose]();
    const outbound = clientFor([443, trusted.port, plain.port, closed.port]);
    const said = async (url: string) =>
      outbound.request(url).then(
        () => '',
        ({ message }: OutboundError) => message,
      );
    assert.equal(await said('https://unknown.test/'), "the server's name was not found");
    assert.equal(await said(`https://127.0.0.1:${closed.port}/`), 'the server took no connection');
    const tls = 'the TLS connection failed; is the certificate valid?';
    assert.equal(await said(`https://127.0.0.1:${trusted.port}/`), tls, 'nobody vouches for it');
    assert.equal(await said(`https://127.0.0.1:${plain.port}/`), tls, 'no TLS at all');
    assert.equal(await said('https://10.0.0.1/'), 'this address is not allowed');
    const clock = testClock();
    const late = assert.rejects(clientFor([443], clock).check('https://hangs.test/'), /name was not found in time/);
    await Promise.resolve();
    clock.advance(5_000);
    await late;
  });

  test('with `answerBody: ignore` status and headers are the answer, whatever the body is', async () => {
    const heads: Record<string, string> = {
      stuck: 'HTTP/1.1 410 Gone\r\ncontent-length: 100\r\n\r\n',
      'unknown encoding': 'HTTP/1.1 200 OK\r\ncontent-encoding: zstd, gzip\r\ncontent-length: 3\r\n\r\nabc',
      'wrong encoding': 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc',
      'broken chunks': 'HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nnonsense',
      'cut short': 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc',
    };
    const ignore: OutboundRequest = { answerBody: 'ignore', method: 'POST', body: '{}' };
    for (const [what, head] of Object.entries(heads)) {
      await using server = await listening(
        createTcpServer((socket) => {
          socket.once('data', () => (what === 'cut short' ? socket.end(head) : socket.write(head)));
        }),
      );
      const answer = await clientFor([server.port]).request(`http://127.0.0.1:${server.port}/`, ignore);
      assert.deepEqual([answer.status, answer.body.length], [Number(head.slice(9, 12)), 0], what);
    }
    await using endless = await listening(
      createTcpServer((socket) => {
        const more = (): void => {
          while (socket.write('x'.repeat(65_536)));
        };
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          socket.on('drain', more);
          more();
        });
      }),
    );
    const { port } = endless;
    assert.equal((await clientFor([port]).request(`http://127.0.0.1:${port}/`, ignore)).status, 200);
  });
});
