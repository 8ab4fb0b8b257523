import { type Duplex, pipeline } from 'node:stream';

/** Joins two streams until both ways are over; what breaks one ends the other. */
export function join(one: Duplex, other: Duplex): Promise<void> {
  return new Promise((resolve) => {
    let open = 2;
    const done = (): void => {
      open -= 1;
      if (open === 0) resolve();
    };
    pipeline(one, other, done);
    pipeline(other, one, done);
  });
}
