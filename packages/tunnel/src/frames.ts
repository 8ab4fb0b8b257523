/** What a frame between relay and daemon holds: bytes of the terminal, or a message as JSON. Its length and that follow. */
export const kinds = { bytes: 0, json: 1 } as const;
const headBytes = 5;
/** Of one frame. */
const mostFrameBytes = 1024 * 1024;
/** A frame of one of the kinds; `payload`: 1 MiB at most. */
export function frameOf(kind: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(kind, 0);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** Cuts frames out of bytes that come in any pieces. Throws for a frame that is too long or of no kind. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  read(chunk: Buffer): { kind: number; payload: Buffer }[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames = [];
    let at = 0;
    while (this.#rest.length - at >= headBytes) {
      const kind = this.#rest.readUInt8(at);
      const length = this.#rest.readUInt32BE(at + 1);
      if (length > mostFrameBytes || kind > kinds.json) throw new Error('a frame of a terminal that is none');
      if (this.#rest.length - at - headBytes < length) break;
      frames.push({ kind, payload: this.#rest.subarray(at + headBytes, at + headBytes + length) });
      at += headBytes + length;
    }
    this.#rest = this.#rest.subarray(at);
    return frames;
  }
}
