/**
 * The shim: holds one sandbox. It starts the runtime, keeps the pipes to the guest agent, lets sandboxd speak through a
 * socket, is the only way out for what runs inside, and ends the sandbox when its time is over, whether sandboxd lives
 * or not. Its imports are few: every sandbox pays for them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createDecoder, encodeFrame, encodeJson, type Frame, frameType, parseJson } from '../wire/frames.ts';
import { createEgress, type EgressTable } from './egress.ts';
import type { ShimEnd, ShimMessage, ShimSpec } from './spec.ts';

/** A timer takes at most 2^31 - 1 ms; a sandbox may live for 7 days, which fits, but a test's clock may not. */
const longestTimer = 2_000_000_000;

interface Held {
  spec: ShimSpec;
  child: ChildProcess;
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
 * the spec on it depends on nobody.
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
  const [command, ...words] = spec.command;
  const log = openSync(spec.log, 'a', 0o600);
  const child = spawn(command as string, words, { stdio: ['pipe', 'pipe', log] });
  closeSync(log);
  const toGuest = (frame: Buffer): void => void child.stdin?.write(frame);
  const held: Held = {
    spec,
    child,
    connection: undefined,
    toConnection: new Map(),
    toGuest: new Map(),
    next: 1,
    reason: 'exited',
    timer: undefined,
    egress: createEgress(spec, toGuest),
  };
  child.stdin?.on('error', () => {});
  child.on('error', () => finish(held, null, null));
  child.on('exit', (code, signal) => finish(held, code, signal));
  const decode = createDecoder((frame) => fromGuest(held, frame));
  child.stdout?.on('data', (chunk: Buffer) => {
    try {
      decode(chunk);
    } catch {
      end(held, 'exited');
    }
  });
  process.on('SIGTERM', () => end(held, 'stopped'));
  arm(held);
  rmSync(spec.socket, { force: true });
  createServer((socket) => accept(held, socket)).listen(spec.socket, () => {
    process.stdout.on('error', () => {});
    process.stdout.write('ready\n', () => process.stdout.destroy());
  });
}

/** Takes a connection of sandboxd; the one before it is replaced. */
function accept(held: Held, socket: Socket): void {
  held.connection?.destroy();
  drop(held);
  held.connection = socket;
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
  socket.on('close', () => {
    if (held.connection !== socket) return;
    held.connection = undefined;
    drop(held);
  });
}

/** Gives up every channel of a connection that is gone: a command nobody listens to is ended. */
function drop(held: Held): void {
  for (const channel of held.toConnection.keys()) held.child.stdin?.write(encodeJson(channel, frameType.close, {}));
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
  held.child.stdin?.write(encodeFrame(inside, type, payload));
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
  held.connection?.write(encodeJson(0, frameType.event, { ok: true }));
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
  held.child.kill('SIGKILL');
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
