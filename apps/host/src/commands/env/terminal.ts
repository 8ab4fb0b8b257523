import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { terminalEnd, type terminalRequest } from '@svc/contract';
import type { WebSocket } from 'ws';
import type { z } from 'zod';
import type { CommonOptions } from '../../config.ts';
import { CommandError } from '../../failure.ts';
import { relayFailedCode } from '../target.ts';
import { attach, keepAlive } from './attach.ts';
import { EscapeReader } from './escape.ts';
import { sendTo, takeFrom } from './flow.ts';
import { findEnvironment, openGateway } from './gateway.ts';
import { codeOfSignal } from './lock.ts';

/** Of a terminal that nobody looks at. */
const usualSize = { cols: 80, rows: 24 };
/** Where nothing is typed any more, the end of what was typed is told again until the shell has seen it. */
const endEveryMs = 1_000;
/** Of a WebSocket: the caller may do it no more. */
const endedByRight = 1008;
const lineFeed = 0x0a;
const endOfText = Buffer.of(0x04);

type End = z.output<typeof terminalEnd>;

/** `svc env terminal`: a login shell on the machine; answers its exit code. */
export async function terminal(target: string, options: CommonOptions): Promise<number> {
  const { client, output, relay } = await openGateway(options);
  const environment = await findEnvironment(client, target, relayFailedCode);
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => stop.abort(signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, onSignal);
  const { cols, rows } = sizeNow();
  try {
    const socket = await attach(
      {
        relay,
        environmentId: environment.id,
        clientId: randomUUID(),
        query: { kind: 'terminal', cols: String(cols), rows: String(rows) },
        signal: stop.signal,
      },
      () => {},
    );
    return await show(socket, () => output.log('left the terminal'));
  } catch (error) {
    if (stop.signal.aborted) return codeOfSignal(stop.signal.reason as NodeJS.Signals);
    throw new CommandError(`${environment.slug}: ${(error as Error).message}`, relayFailedCode);
  }
}

const sizeNow = () => {
  const { columns, rows } = process.stdout;
  return columns > 0 && rows > 0 ? { cols: Math.min(columns, 1_000), rows: Math.min(rows, 1_000) } : usualSize;
};

/** Shows a terminal until it is over; answers the exit code of its shell. Throws when the connection is lost. */
async function show(socket: WebSocket, onLeft: () => void): Promise<number> {
  const { stdin, stdout } = process;
  let end: End | undefined;
  let isLeft = false;
  const leave = (): void => {
    isLeft = true;
    socket.close(1000);
  };
  const restore = stdin.isTTY ? typeKeys(socket, leave) : pipeText(socket);
  takeFrom(socket, stdout, (message, isBinary) => {
    if (!isBinary) end = endOf(message);
    return isBinary;
  });
  const resize = (): void => {
    const request: z.input<typeof terminalRequest> = { resize: sizeNow() };
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(request));
  };
  stdout.on('resize', resize);
  keepAlive(socket);
  try {
    const reason = await closed(socket);
    if (end) return end.exit_code ?? codeOfSignal((end.signal ?? null) as NodeJS.Signals | null);
    if (!isLeft) throw new Error(reason);
  } finally {
    stdout.off('resize', resize);
    restore();
    stdin.destroy();
  }
  onLeft();
  return relayFailedCode;
}

/** What the machine says at the end; one that says it in no known way has ended, and nobody knows how. */
function endOf(message: Buffer): End {
  try {
    return terminalEnd.parse(JSON.parse(message.toString()));
  } catch {
    return { exit_code: null };
  }
}

/** Resolves with why it was closed. */
function closed(socket: WebSocket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('close', (code, reason) =>
      resolve(code === endedByRight ? `the connection was ended: ${reason.toString()}` : 'the connection was lost'),
    );
    process.stdin.resume();
    socket.resume();
  });
}

/** Every key goes to the machine as it is typed; answers what gives the terminal back as it was. */
function typeKeys(socket: WebSocket, leave: () => void): () => void {
  const { stdin } = process;
  const escapes = new EscapeReader();
  const restore = (): void => void stdin.setRawMode(false);
  stdin.setRawMode(true);
  // Node.js leaves on that a line feed also goes to the first column, which the machine's terminal has decided about already.
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
  // However this process ends.
  process.once('exit', restore);
  sendTo(socket, stdin, (chunk) => {
    const keys = escapes.read(chunk);
    if (keys === undefined) leave();
    return keys ?? Buffer.alloc(0);
  });
  stdin.once('end', leave);
  return () => {
    process.off('exit', restore);
    restore();
  };
}

/** A file or a pipe is typed, and then the keys for its end. */
function pipeText(socket: WebSocket): () => void {
  const { stdin } = process;
  let last: number | undefined = lineFeed;
  let ending: NodeJS.Timeout | undefined;
  sendTo(socket, stdin, (chunk) => {
    last = chunk.at(-1);
    return chunk;
  });
  const sayEnd = (): void => {
    if (socket.readyState === socket.OPEN) socket.send(endOfText);
  };
  stdin.once('end', () => {
    if (last !== lineFeed) socket.send(Buffer.of(lineFeed));
    sayEnd();
    // A shell that was just starting does not see one that came before it asked.
    ending = setInterval(sayEnd, endEveryMs);
  });
  return () => clearInterval(ending);
}
