import type { Duplex } from 'node:stream';
import { terminalEnd, terminalRequest } from '@svc/contract';
import type { WebSocket } from 'ws';

/** A frame between relay and daemon: what it holds, its length, and that. */
const kinds = { bytes: 0, json: 1 } as const;
const headBytes = 5;
/** Of one frame. */
const mostFrameBytes = 1024 * 1024;
/** Bytes that wait for a client that does not read, before the machine is held back. */
const mostWaitingBytes = 1024 * 1024;

function frameOf(kind: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(kind, 0);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** Cuts frames out of bytes that come in any pieces. Throws for a frame that is too long or of no kind. */
class FrameReader {
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

/**
 * Carries a terminal between a client, which sends and gets messages, and its daemon, which sends and gets frames. Whoever is
 * slow holds back the other one.
 */
export function carryTerminal(socket: WebSocket, machine: Duplex, end: (code: number, reason: string) => void): void {
  const reader = new FrameReader();
  socket.on('message', (data: Buffer, isBinary) => {
    const sized = isBinary ? undefined : requestOf(data);
    if (!isBinary && sized === undefined)
      return end(1008, 'a text message of a terminal is {"resize":{"cols":80,"rows":24}}');
    const frame = isBinary ? frameOf(kinds.bytes, data) : frameOf(kinds.json, Buffer.from(JSON.stringify(sized)));
    if (machine.write(frame)) return;
    socket.pause();
    machine.once('drain', () => socket.resume());
  });
  machine.on('data', (chunk: Buffer) => {
    try {
      for (const frame of reader.read(chunk)) sendFrame(socket, frame);
    } catch {
      return end(1011, 'the machine sent what is no frame of a terminal');
    }
    if (socket.bufferedAmount <= mostWaitingBytes) return;
    machine.pause();
    // An empty ping is sent once all before it is.
    socket.ping('', undefined, () => machine.resume());
  });
  machine.once('end', () => end(1000, 'the terminal ended'));
  machine.once('close', () => end(1011, 'the machine is gone'));
  socket.once('close', () => machine.destroy());
}

function sendFrame(socket: WebSocket, { kind, payload }: { kind: number; payload: Buffer }): void {
  if (socket.readyState !== socket.OPEN) return;
  if (kind === kinds.bytes) return socket.send(payload, { binary: true });
  socket.send(JSON.stringify(terminalEnd.parse(JSON.parse(payload.toString()))), { binary: false });
}

function requestOf(data: Buffer): object | undefined {
  try {
    return terminalRequest.parse(JSON.parse(data.toString()));
  } catch {
    return undefined;
  }
}
