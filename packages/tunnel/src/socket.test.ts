import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { asSocket } from './socket.ts';

test('what comes at once goes on in pieces of 64 KiB, a turn of the loop each, whole and in order', async () => {
  const sent = Buffer.from(Array.from({ length: 1024 * 1024 + 5 }, (_, at) => at % 251));
  const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const socket = await asSocket(stream);
  const got: Buffer[] = [];
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    if (!socket.destroyed) setImmediate(turn);
  };
  socket.on('data', (chunk: Buffer) => got.push(chunk));
  const ended = once(socket, 'end');
  turn();
  stream.push(sent);
  stream.push(null);
  await ended;
  assert.ok(Buffer.concat(got).equals(sent));
  assert.ok(turns >= 16, `${turns} turns`);
  socket.destroy();
});
