import type { Clock } from '../base/clock.ts';
import type { EventStream } from './sse.ts';

/** Text that somebody else still writes, such as the log of a run. */
interface Written {
  /** Resolves when there may be more, or when the signal is aborted. */
  next: (signal: AbortSignal) => Promise<void>;
  /** The state in which it is over; undefined while more may come. */
  over: () => Promise<string | undefined>;
  /** What there is from a byte on. */
  read: (from: number) => AsyncIterable<Buffer>;
  /** Name and data of the event with a piece of it, which begins and ends at these bytes. */
  event: (piece: { from: number; to: number; text: string }) => [name: string, data: object];
}

/** A client that takes nothing for so long is gone. */
const stalledMs = 60_000;
/** Of the text in one event: far less than what a stream may be behind. */
const eventBytes = 64 * 1024;

/** Sends a text from a byte on as it is written, then `end` with its state, and ends the stream. */
export async function followText(
  clock: Clock,
  stream: EventStream,
  from: number,
  { next, over, read, event }: Written,
): Promise<void> {
  const gone = new AbortController();
  stream.onClose(() => gone.abort());
  let at = from;
  let half: Buffer = Buffer.alloc(0);
  const sendPiece = (piece: Buffer): Promise<boolean> => {
    const [name, data] = event({ from: at, to: at + piece.length, text: piece.toString() });
    at += piece.length;
    return send(clock, stream, name, data);
  };
  while (!gone.signal.aborted) {
    // Before looking: what comes in between is not slept over, and all that was written is here before the end is.
    const woken = next(gone.signal);
    const state = await over();
    for await (const piece of inPieces(read(at + half.length))) {
      const text = Buffer.concat([half, piece]);
      const whole = text.subarray(0, text.length - halfCharacter(text));
      half = text.subarray(whole.length);
      if (whole.length > 0 && !(await sendPiece(whole))) return;
    }
    if (state !== undefined) {
      if (half.length > 0) await sendPiece(half);
      await send(clock, stream, 'end', { state, bytes: at });
      stream.end();
      return;
    }
    await woken;
  }
}

async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += eventBytes) yield chunk.subarray(at, at + eventBytes);
  }
}

/** Bytes at the end that begin a character of UTF-8 and do not finish it. */
function halfCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
  }
  return 0;
}

/** Sends a frame as soon as there is room for it; false once the client is gone, or takes nothing for a minute. */
async function send(clock: Clock, stream: EventStream, event: string, data: object): Promise<boolean> {
  const json = JSON.stringify(data);
  const giveUp = clock.after(stalledMs, () => stream.destroy());
  try {
    while (!stream.closed) {
      if (stream.offer(event, json)) return true;
      await stream.drained();
    }
    return false;
  } finally {
    giveUp();
  }
}
