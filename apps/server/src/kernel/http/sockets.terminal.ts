import type { Duplex } from 'node:stream';
import { terminalEnd, terminalRequest } from '@svc/contract';
import { frameOf, FrameReader, kinds } from '@svc/tunnel';
import type { WebSocket } from 'ws';
import type { Context } from './context.ts';
import { closeSocket, keepAlive, watchRights } from './sockets.bytes.ts';

/** Of one message of a client of a terminal. */
const mostTyped = 64 * 1024;

/** Bytes that wait for a client that does not read, before the machine is held back. */
const mostWaitingBytes = 1024 * 1024;

/** What is told of a terminal: its end, and the bytes of both ways. */
interface TerminalEvents {
  end: (code: number, reason: string) => void;
  count: (bytes: number) => void;
}

/** What a terminal that runs can be asked. */
interface RunningTerminal {
  end: (code: number, reason: string) => void;
}

/**
 * Runs a terminal over the WebSocket of a request until one of both sides ends it, the rights of its caller end, or the process
 * stops. `machine` carries frames; `count` is told the bytes of both ways; `begin` gets a hand on it, and answers what is done at
 * its end.
 */
export async function runTerminal(
  context: Context,
  machine: Duplex,
  { count, begin }: { count: (bytes: number) => void; begin?: (terminal: RunningTerminal) => () => void },
): Promise<void> {
  const { kernel, actor } = context;
  const socket = await context.openSocket(mostTyped);
  if (!socket) return;
  const { clock } = kernel;
  const end = (code: number, reason: string): void => closeSocket(clock, socket, code, reason);
  const stops = [
    keepAlive(clock, socket, { isPatient: true }),
    context.holdSocket(end),
    watchRights(kernel, actor, (reason) => end(1008, reason)),
    begin?.({ end }),
  ];
  carryTerminal(socket, machine, { end, count });
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    if (socket.readyState === socket.CLOSED) resolve();
  });
  for (const stop of stops) stop?.();
}

/**
 * Carries a terminal between a client, which sends and gets messages, and its machine, which sends and gets frames. Whoever is
 * slow holds back the other one.
 */
function carryTerminal(socket: WebSocket, machine: Duplex, { end, count }: TerminalEvents): void {
  const reader = new FrameReader();
  /** The machine said how it ended: else it only seems so, as its connection is lost. */
  let isOver = false;
  socket.on('message', (data: Buffer, isBinary) => {
    const sized = isBinary ? undefined : requestOf(data);
    if (!isBinary && sized === undefined)
      return end(1008, 'a text message of a terminal is {"resize":{"cols":80,"rows":24}}');
    count(data.length);
    const frame = isBinary ? frameOf(kinds.bytes, data) : frameOf(kinds.json, Buffer.from(JSON.stringify(sized)));
    if (machine.write(frame)) return;
    socket.pause();
    machine.once('drain', () => socket.resume());
  });
  machine.on('data', (chunk: Buffer) => {
    count(chunk.length);
    try {
      for (const frame of reader.read(chunk)) {
        isOver ||= frame.kind === kinds.json;
        sendFrame(socket, frame);
      }
    } catch {
      return end(1011, 'the machine sent what is no frame of a terminal');
    }
    if (socket.bufferedAmount <= mostWaitingBytes) return;
    machine.pause();
    // An empty ping is sent once all before it is.
    socket.ping('', undefined, () => machine.resume());
  });
  machine.once('end', () => (isOver ? end(1000, 'the terminal ended') : end(1011, 'the machine is gone')));
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
