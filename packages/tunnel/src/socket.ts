import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Duplex, Transform } from 'node:stream';

/**
 * A stream as a socket of the system. HTTP/2 of Node.js over anything else fails an assertion of its own, which ends the process,
 * when its session and the stream end at the same moment (`JSStreamSocket.doWrite`, seen in Node.js 26 with forty streams open).
 * The two ends meet in a folder that nobody else may enter, and the folder is gone when they have.
 */
export async function asSocket(stream: Duplex): Promise<Socket> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-relay-'));
  const server = createServer();
  try {
    const path = join(folder, 's');
    server.listen(path);
    await once(server, 'listening');
    const near = connect(path);
    const [[far]] = (await Promise.all([once(server, 'connection'), once(near, 'connect')])) as [[Socket], unknown];
    tie(far, stream, inTurns());
    return near;
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Bytes that go on in one turn of the loop: 6,500 of the smallest frames of HTTP/2, each of which runs code. */
const turnBytes = 64 * 1024;

/** Passes what comes at once on in pieces, a turn of the loop each: a message of 4 MiB of small frames stops nobody else. */
const inTurns = (): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const next = (at: number): void => {
        this.push(chunk.subarray(at, at + turnBytes));
        if (at + turnBytes < chunk.length) setImmediate(next, at + turnBytes);
        else done();
      };
      next(0);
    },
  });

/** Whatever ends one ends the other; what comes from `other` goes through `pieces`. */
function tie(one: Socket, other: Duplex, pieces: Transform): void {
  one.on('error', () => {}).once('close', () => other.destroy());
  other.on('error', () => {});
  other.once('close', () => {
    // What it said before its end is passed on first.
    if (!other.readableEnded) one.destroy();
    else if (pieces.readableEnded) one.destroySoon();
    else pieces.once('end', () => one.destroySoon());
  });
  one.pipe(other);
  other.pipe(pieces).pipe(one);
  if (other.destroyed) one.destroy();
}
