/**
 * The shim: holds one sandbox. It keeps the pipes to the guest agent, lets sandboxd speak through a socket, is the only way
 * out for what runs inside, and ends the sandbox when its time is over, whether sandboxd lives or not. `start.sh` starts the
 * runtime beside it, since it may do nothing that this needs. Its imports are few: every sandbox pays for them.
 */
import { renameSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { createServer, Socket } from 'node:net';
import { constants } from 'node:os';
import { createDecoder, encodeFrame, encodeJson, type Frame, frameType, parseJson } from '../wire/frames.ts';
import type { ShimMessage, ShimReply } from '../wire/messages.ts';
import { createEgress, type EgressTable } from './egress.ts';
import type { ShimEnd, ShimSpec } from './spec.ts';

/** A timer takes at most 2^31 - 1 ms; a sandbox may live for 7 days, which fits, but a test's clock may not. */
const longestTimer = 2_000_000_000;

/** Bytes that may wait for a reader, guest or sandboxd, before the guest's output, which causes them, is paused. */
const mostWaiting = 1_048_576;
/** More than 128 tunnels and the connections to ports can have under way: an agent that takes none of it is ended. */
const mostUntaken = 64 * 1_048_576;
/** The log is emptied when it is longer; it is of use for what went wrong at the start. */
const mostLog = 1_048_576;
const lookMs = 1_000;

/** Descriptors that `start.sh` gives: a line on the second ends the sandbox. */
const fds = { kill: 2, toSandbox: 5, fromSandbox: 6, code: 7 };

interface Held {
  spec: ShimSpec;
  input: Socket;
  output: Socket;
  connection: Socket | undefined;
  /** Channel of the guest -> channel of the connection, and back. */
  toConnection: Map<number, number>;
  toGuest: Map<number, number>;
  next: number;
  reason: ShimEnd['reason'];
  timer: NodeJS.Timeout | undefined;
  egress: EgressTable;
}

/**
 * Waits for a spec on standard input, so that sandboxd can have shims in store; without one it ends with sandboxd. From
 * the spec on it depends on no other process.
 */
function main(): void {
  let text = '';
  // A restart of sandboxd must not end what it holds.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGPIPE'] as const) process.on(signal, () => {});
  process.stdin.on('end', () => process.exit(0));
  process.stdin.on('data', (chunk) => {
    text += chunk.toString();
    if (!text.includes('\n')) return;
    process.stdin.removeAllListeners();
    process.stdin.on('error', () => {});
    process.stdin.destroy();
    hold(JSON.parse(text) as ShimSpec);
  });
}

function hold(spec: ShimSpec): void {
  const input = new Socket({ fd: fds.toSandbox, readable: false, writable: true });
  const output = new Socket({ fd: fds.fromSandbox, readable: true, writable: false });
  const held: Held = {
    spec,
    input,
    output,
    connection: undefined,
    toConnection: new Map(),
    toGuest: new Map(),
    next: 1,
    reason: 'exited',
    timer: undefined,
    egress: createEgress(spec, (frame) => tellGuest(held, frame)),
  };
  input.on('error', () => {}).on('drain', () => pace(held));
  hearEnd(held);
  const decode = createDecoder((frame) => fromGuest(held, frame));
  output
    .on('error', () => {})
    .on('data', (chunk: Buffer) => {
      try {
        decode(chunk);
        pace(held);
      } catch {
        end(held, 'exited');
      }
    });
  setInterval(() => shorten(spec.log), lookMs).unref();
  process.on('SIGTERM', () => end(held, 'stopped'));
  arm(held);
  rmSync(spec.socket, { force: true });
  createServer((socket) => accept(held, socket)).listen(spec.socket, () => {
    process.stdout.on('error', () => {});
    process.stdout.write('ready\n', () => process.stdout.destroy());
  });
}

function shorten(log: string): void {
  try {
    if (statSync(log).size > mostLog) truncateSync(log);
  } catch {
    // The sandbox is being destroyed.
  }
}

/** Takes a connection of sandboxd; the one before it is replaced. */
function accept(held: Held, socket: Socket): void {
  held.connection?.destroy();
  drop(held);
  held.connection = socket;
  pace(held);
  const decode = createDecoder((frame) => {
    if (held.connection === socket) fromConnection(held, frame);
  });
  socket.on('data', (chunk: Buffer) => {
    try {
      decode(chunk);
    } catch {
      socket.destroy();
    }
  });
  socket.on('error', () => {});
  socket.on('drain', () => pace(held));
  socket.on('close', () => {
    if (held.connection !== socket) return;
    held.connection = undefined;
    drop(held);
    pace(held);
  });
}

function tellGuest({ input }: Held, frame: Buffer): void {
  input.write(frame);
  if (input.writableLength > mostUntaken) kill();
}

/** Pauses the guest's output while either reader, the guest or sandboxd, is behind. */
function pace({ input, output, connection }: Held): void {
  const waiting = Math.max(input.writableLength, connection?.writableLength ?? 0);
  if (waiting > mostWaiting) output.pause();
  else output.resume();
}

/** Gives up every channel of a connection that is gone: a command without a listener is ended. */
function drop(held: Held): void {
  for (const channel of held.toConnection.keys()) tellGuest(held, encodeJson(channel, frameType.close, {}));
  held.toConnection.clear();
  held.toGuest.clear();
}

function fromConnection(held: Held, { channel, type, payload }: Frame): void {
  if (channel === 0) {
    obey(held, parseJson(payload));
    return;
  }
  let inside = held.toGuest.get(channel);
  if (type === frameType.open) {
    inside = held.next;
    held.next += 2;
    held.toGuest.set(channel, inside);
    held.toConnection.set(inside, channel);
  }
  if (inside === undefined) return;
  if (type === frameType.close) forget(held, inside, channel);
  tellGuest(held, encodeFrame(inside, type, payload));
}

function fromGuest(held: Held, frame: Frame): void {
  const { channel, type, payload } = frame;
  if (channel % 2 === 0) {
    held.egress.receive(frame);
    return;
  }
  const outside = held.toConnection.get(channel);
  if (outside === undefined) return;
  if (type === frameType.close) forget(held, channel, outside);
  held.connection?.write(encodeFrame(outside, type, payload));
}

function forget(held: Held, inside: number, outside: number): void {
  held.toConnection.delete(inside);
  held.toGuest.delete(outside);
}

function obey(held: Held, message: ShimMessage): void {
  if (message.egress) held.spec.egress = message.egress;
  if (message.expires_at !== undefined) {
    held.spec.expiresAt = message.expires_at;
    arm(held);
  }
  if (message.stop) end(held, 'stopped');
  const reply: ShimReply = { ok: true };
  held.connection?.write(encodeJson(0, frameType.event, reply));
}

/** Ends the sandbox at `expiresAt`. */
function arm(held: Held): void {
  clearTimeout(held.timer);
  const left = held.spec.expiresAt - Date.now();
  if (left <= 0) end(held, 'expired');
  else held.timer = setTimeout(() => arm(held), Math.min(left, longestTimer));
}

function end(held: Held, reason: ShimEnd['reason']): void {
  if (held.reason === 'exited') held.reason = reason;
  kill();
}

/** Its end comes as its exit code; a second time does nothing. */
function kill(): void {
  try {
    writeSync(fds.kill, '\n');
  } catch {
    // Nobody reads it any more: the sandbox has ended.
  }
}

/** Waits for the exit code of the sandbox; none when what started it is gone, and the sandbox with it. */
function hearEnd(held: Held): void {
  let said = '';
  const finished = (): void => {
    const code = /^\d+$/.test(said.trim()) ? Number(said) : null;
    const signal = Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0] ?? null;
    finish(held, signal === null ? code : null, signal);
  };
  const heard = new Socket({ fd: fds.code, readable: true, writable: false });
  heard.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  heard.on('error', finished).once('end', finished);
}

function finish(held: Held, code: number | null, signal: string | null): void {
  const ended: ShimEnd = { reason: held.reason, code, signal };
  try {
    writeFileSync(`${held.spec.ended}.new`, JSON.stringify(ended));
    renameSync(`${held.spec.ended}.new`, held.spec.ended);
  } catch {
    // The directory went first: the sandbox is being destroyed.
  }
  rmSync(held.spec.socket, { force: true });
  process.exit(0);
}

main();
