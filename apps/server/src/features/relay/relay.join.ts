import { type Duplex, pipeline } from 'node:stream';

/** Joins two streams until both ways are over; what breaks one ends the other. `count` is told of the bytes of both ways. */
export function join(one: Duplex, other: Duplex, count?: (bytes: number) => void): Promise<void> {
  return new Promise((resolve) => {
    if (count) for (const stream of [one, other]) stream.on('data', (chunk: Buffer) => count(chunk.length));
    let open = 2;
    const done = (): void => {
      open -= 1;
      if (open === 0) resolve();
    };
    pipeline(one, other, done);
    pipeline(other, one, done);
  });
}
