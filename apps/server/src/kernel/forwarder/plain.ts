import { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * A stream as the HTTP client of Node.js may write to it: one buffer after the other. What it writes together, a head as text
 * and a body as bytes, reaches a stream of HTTP/2 with memory that was freed in place of the head (Node.js 20 and 26).
 */
export function plainOf(inside: Duplex): Duplex {
  if (inside instanceof Socket) return inside;
  const plain = new Duplex({
    allowHalfOpen: true,
    read: () => inside.resume(),
    write: (chunk: Buffer, _encoding, done) => void inside.write(chunk, done),
    final: (done) => void inside.end(done),
    destroy(error, done) {
      inside.destroy();
      done(error);
    },
  });
  inside.on('data', (chunk: Buffer) => {
    if (!plain.push(chunk)) inside.pause();
  });
  inside.once('end', () => plain.push(null));
  inside.once('error', (error) => plain.destroy(error));
  inside.once('close', () => {
    // What came before an end in order is still to be read.
    if (!inside.readableEnded) plain.destroy();
  });
  inside.pause();
  return plain;
}
