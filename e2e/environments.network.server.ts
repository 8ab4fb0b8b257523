import { createCipheriv, createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { WebSocketServer } from 'ws';

/**
 * A server of a machine, as a program of its own: `/` says hello, `/bytes/<MiB>` sends so many, `/few` 64 KiB, `/hash`
 * answers the hash of what is sent to it, `/endless` never ends, and a WebSocket hears what it says. It listens on the
 * loopback, and at the socket that its argument names, where `/written` tells how many bytes `/endless` has handed to
 * the system.
 */
export const piece = 1024 * 1024;

/** Bytes that look random, and are the same each time. */
export function* bytesOf(pieces: number): Generator<Buffer> {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16));
  const zeros = Buffer.alloc(piece);
  for (let at = 0; at < pieces; at += 1) yield cipher.update(zeros);
}

/** The first of them. */
export const few = (bytesOf(1).next().value as Buffer).subarray(0, 64 * 1024);

let written = 0;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, what = '', count = ''] = (request.url ?? '').split('/');
  if (what === 'written') return void response.end(String(written));
  if (what === 'hash') {
    const hash = createHash('sha256');
    for await (const chunk of request as AsyncIterable<Buffer>) hash.update(chunk);
    return void response.end(hash.digest('hex'));
  }
  if (what === 'few') return void response.end(few);
  const pieces = what === 'endless' ? Number.POSITIVE_INFINITY : what === 'bytes' ? Number(count) : 0;
  if (pieces === 0) return void response.end('hello');
  const counted = function* (): Generator<Buffer> {
    for (const bytes of bytesOf(pieces)) {
      yield bytes;
      if (what === 'endless') written += bytes.length;
    }
  };
  // Whoever leaves takes nothing more.
  await pipeline(counted, response).catch(() => {});
}

const control = process.argv[2];
if (import.meta.main && control !== undefined) {
  const server = createServer((request, response) => void answer(request, response));
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  server.listen(0, '127.0.0.1', () => {
    const asked = createServer((request, response) => void answer(request, response));
    asked.listen(control, () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
  });
}
