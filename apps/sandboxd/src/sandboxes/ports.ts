import { Duplex } from 'node:stream';
import { NodeError } from '../error.ts';
import type { Channel } from '../wire/client.ts';
import type { GuestEnd, GuestRequest } from '../wire/messages.ts';
import { type Context, entryOf, liveOf } from './context.ts';

/** How the bytes of a channel and those of its stream differ. */
interface Form<K extends 'port' | 'terminal'> {
  request: GuestRequest<K>;
  /** What the stream's reader gets of some bytes of the channel. */
  read(bytes: Buffer): Buffer;
  /** Sends what was written to the stream; false when the channel wants no more now. Throws for what cannot be sent. */
  write(chunk: Buffer, channel: Channel): boolean;
  /** The last that the reader gets. */
  last?(end: GuestEnd<K>): Buffer;
  /** Why it was never there. */
  refusal(end: GuestEnd<K>, isLost: boolean): NodeError;
}

/** Opens a connection to a port inside; `not_found` when nothing listens there. */
export const openPort = (context: Context, id: string, port: number): Promise<Duplex> =>
  openStream<'port'>(context, id, {
    request: { kind: 'port', port },
    read: (bytes) => bytes,
    write: (chunk, channel) => channel.write(chunk),
    refusal: (_end, isLost) =>
      new NodeError(isLost ? 'sandbox_not_running' : 'not_found', 'nothing listens on this port'),
  });

/** Opens a conversation with the agent as a stream; a pause or a fork ends it. */
export function openStream<K extends 'port' | 'terminal'>(
  context: Context,
  id: string,
  form: Form<K>,
): Promise<Duplex> {
  const entry = entryOf(context, id);
  const live = liveOf(entry);
  if (entry.busy === 'pause' || entry.busy === 'fork')
    throw new NodeError('sandbox_busy', `a ${entry.busy} of this sandbox is under way; wait until it ends`);
  return new Promise((resolve, reject) => {
    let waiting: (() => void) | undefined;
    let returned: (() => void)[] = [];
    const channel: Channel = live.client.open<K>(form.request, {
      data(bytes, _stream, done) {
        if (stream.push(form.read(Buffer.from(bytes)))) done();
        else returned.push(done);
      },
      eof: () => stream.push(null),
      event: () => resolve(stream),
      drain() {
        const go = waiting;
        waiting = undefined;
        go?.();
      },
      close(end, isLost) {
        entry.ports.delete(stream);
        reject(form.refusal(end, isLost));
        if (end.error === undefined) {
          if (form.last && !isLost) stream.push(form.last(end));
          stream.push(null);
        }
        // Bytes that came before stay readable; nobody is left to write to.
        if (stream.readableLength === 0) stream.destroy();
        else stream.once('end', () => stream.destroy());
      },
    });
    const stream = new Duplex({
      allowHalfOpen: true,
      read() {
        const due = returned;
        returned = [];
        for (const done of due) done();
      },
      write(chunk: Buffer, _encoding, done) {
        waiting = sendOr(() => form.write(chunk, channel), done);
      },
      final(done) {
        channel.eof();
        done();
      },
      destroy(error, done) {
        entry.ports.delete(stream);
        channel.cancel();
        // From here on the channel says nothing.
        reject(new NodeError('sandbox_busy', 'the connection was given up for a pause or a fork; open it again'));
        done(error);
      },
    });
    entry.ports.add(stream);
    stream.on('error', () => {});
  });
}

/** Sends, and tells that it is done; answers whom to tell later when the channel wants to wait. */
function sendOr(send: () => boolean, done: (error?: Error) => void): (() => void) | undefined {
  try {
    if (!send()) return done;
    done();
  } catch (error) {
    done(error as Error);
  }
  return undefined;
}
