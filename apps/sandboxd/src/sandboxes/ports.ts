import { Duplex } from 'node:stream';
import { NodeError } from '../error.ts';
import type { Channel } from '../wire/client.ts';
import { type Context, entryOf, liveOf } from './context.ts';

/** Opens a connection to a port inside; `not_found` when nothing listens there. */
export function openPort(context: Context, id: string, port: number): Promise<Duplex> {
  const entry = entryOf(context, id);
  const live = liveOf(entry);
  if (entry.busy === 'pause' || entry.busy === 'fork')
    throw new NodeError('sandbox_busy', `a ${entry.busy} is under way`);
  return new Promise((resolve, reject) => {
    let waiting: (() => void) | undefined;
    let returned: (() => void)[] = [];
    const channel: Channel = live.client.open(
      { kind: 'port', port },
      {
        data(bytes, _stream, done) {
          if (stream.push(Buffer.from(bytes))) done();
          else returned.push(done);
        },
        eof: () => stream.push(null),
        event: () => resolve(stream),
        drain() {
          const go = waiting;
          waiting = undefined;
          go?.();
        },
        close({ error }, lost) {
          entry.ports.delete(stream);
          reject(new NodeError(lost ? 'sandbox_not_running' : 'not_found', 'nothing listens on this port'));
          if (error === undefined) stream.push(null);
          // Bytes that came before stay readable; nobody is left to write to.
          if (stream.readableLength === 0) stream.destroy();
          else stream.once('end', () => stream.destroy());
        },
      },
    );
    const stream = new Duplex({
      allowHalfOpen: true,
      read() {
        const due = returned;
        returned = [];
        for (const done of due) done();
      },
      write(chunk: Buffer, _encoding, done) {
        if (channel.write(chunk)) done();
        else waiting = done;
      },
      final(done) {
        channel.eof();
        done();
      },
      destroy(error, done) {
        entry.ports.delete(stream);
        channel.cancel();
        // From here on the channel says nothing.
        reject(new NodeError('sandbox_busy', 'the connection was given up for a pause or a fork'));
        done(error);
      },
    });
    entry.ports.add(stream);
    stream.on('error', () => {});
  });
}
