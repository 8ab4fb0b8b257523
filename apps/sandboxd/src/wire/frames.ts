/**
 * Frames between sandboxd, the shim and the guest agent: u32 length, u32 channel, u8 type, payload (big endian). The
 * same as in `guest/mux.py`. What their JSON may be is in `messages.ts`.
 */

/** Channel 0 is between sandboxd and the shim; odd ones are opened outside, even ones inside. */
export const frameType = { open: 1, data: 2, data2: 3, eof: 4, close: 5, credit: 6, event: 7 } as const;

/** Bytes of data that may be under way on a channel before the reader returns credit. */
export const windowBytes = 262_144;
const headerBytes = 9;
const mostPayload = 16 * 1024 * 1024;

export interface Frame {
  channel: number;
  type: number;
  payload: Buffer;
}

export function encodeFrame(channel: number, type: number, payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.writeUInt32BE(channel, 4);
  frame.writeUInt8(type, 8);
  payload.copy(frame, headerBytes);
  return frame;
}

export const encodeJson = (channel: number, type: number, value: unknown): Buffer =>
  encodeFrame(channel, type, Buffer.from(JSON.stringify(value)));

export function encodeCredit(channel: number, bytes: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(bytes, 0);
  return encodeFrame(channel, frameType.credit, payload);
}

/** Parses the JSON object of a frame; `{}` for anything else: the other end may be code that lies. */
export function parseJson(payload: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(payload.toString());
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Cuts a byte stream into frames; throws when a frame is longer than any that is sent. */
export function createDecoder(onFrame: (frame: Frame) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let held = 0;
  let wanted = headerBytes;
  return (chunk) => {
    parts.push(chunk);
    held += chunk.length;
    if (held < wanted) return;
    let bytes = parts.length === 1 ? chunk : Buffer.concat(parts);
    wanted = headerBytes;
    while (bytes.length >= headerBytes) {
      const length = bytes.readUInt32BE(0);
      if (length > mostPayload) throw new Error('frame too long');
      if (bytes.length < headerBytes + length) {
        wanted = headerBytes + length;
        break;
      }
      const payload = bytes.subarray(headerBytes, headerBytes + length);
      onFrame({ channel: bytes.readUInt32BE(4), type: bytes.readUInt8(8), payload });
      bytes = bytes.subarray(headerBytes + length);
    }
    parts = bytes.length > 0 ? [bytes] : [];
    held = bytes.length;
  };
}
