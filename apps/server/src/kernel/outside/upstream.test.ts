import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { createUpstream } from './upstream.ts';

describe('a stream that is sent to an upstream', () => {
  /** Answers how many bytes came, and what length was announced. */
  async function open() {
    const server = createServer((request, response) => {
      void buffer(request).then(
        (body) => response.end(`${body.length} ${request.headers['content-length']}`),
        () => response.destroy(),
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const upstream = createUpstream();
    const { port } = server.address() as AddressInfo;
    return {
      send: (stream: Readable, length: number) =>
        upstream.ask(`http://127.0.0.1:${port}/`, {
          method: 'POST',
          headers: {},
          body: { stream, length },
          signal: AbortSignal.timeout(60_000),
          connectMs: 5_000,
        }),
      async [Symbol.asyncDispose]() {
        await upstream.close();
        server.closeAllConnections();
        server.close();
      },
    };
  }

  test('arrives whole, with its length', async () => {
    await using t = await open();
    const pieces = Array.from({ length: 40 }, () => Buffer.alloc(50_000, 1));
    assert.equal(await text((await t.send(Readable.from(pieces), 2_000_000)).body), '2000000 2000000');
  });

  test('fails when it has more bytes than were announced, or fewer, or breaks', async () => {
    await using t = await open();
    await assert.rejects(t.send(Readable.from([Buffer.alloc(11)]), 10));
    await assert.rejects(t.send(Readable.from([Buffer.alloc(9)]), 10));
    const broken = new Readable({
      read() {
        this.destroy(new Error('the file is gone'));
      },
    });
    await assert.rejects(t.send(broken, 10), /the file is gone/);
  });
});
