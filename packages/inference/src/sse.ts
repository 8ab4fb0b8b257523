/** One event of a stream, and its own bytes with the blank line that ends it. */
export interface Frame {
  event: string | undefined;
  /** Undefined: a comment. */
  data: string | undefined;
  raw: Buffer;
}

/** A frame is kept until it is whole: an image in base64 fits, a stream without end does not. */
const mostFrameBytes = 24 * 1024 * 1024;
const lf = 10;
const cr = 13;

/**
 * Cuts the bytes of an event stream into frames, however they come: in the middle of a character, of a CRLF, of a
 * name. Throws for a frame of over 24 MiB.
 */
export class SseReader {
  #parts: Buffer[] = [];
  #kept = 0;
  /** State of the scan: the line so far is empty, the last byte was a CR. */
  #isEmptyLine = true;
  #isAfterCr = false;
  /** The frame was ended by a CR: an LF that follows belongs to it. */
  #isEnded = false;
  #isFirst = true;

  /** The frames that these bytes complete. */
  push(bytes: Buffer): Frame[] {
    const frames: Frame[] = [];
    let from = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (this.#isEnded) {
        const end = byte === lf ? at + 1 : at;
        frames.push(this.#take(bytes.subarray(from, end)));
        from = end;
        this.#isEnded = false;
        this.#isEmptyLine = true;
        this.#isAfterCr = false;
        if (byte === lf) continue;
      }
      if (byte === lf && this.#isAfterCr) this.#isAfterCr = false;
      else if (byte === lf || byte === cr) {
        this.#isAfterCr = byte === cr;
        if (this.#isEmptyLine && this.#kept + at - from > 0) {
          if (byte === cr) this.#isEnded = true;
          else {
            frames.push(this.#take(bytes.subarray(from, at + 1)));
            from = at + 1;
            this.#isAfterCr = false;
          }
        }
        this.#isEmptyLine = true;
      } else {
        this.#isAfterCr = false;
        this.#isEmptyLine = false;
      }
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from));
    return frames;
  }

  /** The last frame, where only its blank line is missing; what was cut inside of a line is dropped. */
  end(): Frame | undefined {
    const last = this.#parts.at(-1)?.at(-1);
    if (last !== lf && last !== cr) return undefined;
    const frame = this.#take(Buffer.alloc(0));
    return frame.data === undefined ? undefined : { ...frame, raw: Buffer.concat([frame.raw, Buffer.from('\n')]) };
  }

  #keep(bytes: Buffer): void {
    this.#kept += bytes.length;
    if (this.#kept > mostFrameBytes) throw new Error('a frame of the stream is over 24 MiB');
    this.#parts.push(bytes);
  }

  #take(last: Buffer): Frame {
    const raw = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    this.#kept = 0;
    const text = raw.toString('utf8');
    const frame = { ...fieldsOf(this.#isFirst ? text.replace(/^\uFEFF/, '') : text), raw };
    this.#isFirst = false;
    return frame;
  }
}

function fieldsOf(text: string): { event: string | undefined; data: string | undefined } {
  let event: string | undefined;
  let data: string | undefined;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'event') event = value;
    else if (name === 'data') data = data === undefined ? value : `${data}\n${value}`;
  }
  return { event, data };
}

/** A frame as it is written: its name, where it has one, and a line of JSON. */
export const frameOf = (data: object | string, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
