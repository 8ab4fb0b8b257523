import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Scanned } from '@svc/sandboxd-api';
import type { Scanner } from '../parts.ts';
import { type Clamd, type ClamdOptions, startClamd } from './clamd.ts';

interface ScannerOptions extends ClamdOptions {
  /** Hears why a scan ended without a verdict. */
  log?: (line: string) => void;
}

/** Without a byte in either direction for so long a scan has failed; clamd gives up on a file after 300 s. */
const idleMs = 330_000;
const mostReply = 4096;

/** Scans with a clamd of its own, started on the first use and again when it died. A fault is a verdict: `error`. */
export function createScanner(options: ScannerOptions): Scanner {
  let running: Promise<Clamd> | undefined;
  let pending: Promise<Clamd> | undefined;
  let closed = false;
  const clamd = async () => {
    const known = await running?.catch(() => undefined);
    if (known?.alive()) return known;
    if (closed) throw new Error('the scanner is closed');
    // Several scans at once share one start: nothing is awaited between the look above and this.
    running = pending ??= Promise.resolve(known?.stop())
      .then(() => startClamd(options))
      .finally(() => {
        pending = undefined;
      });
    return running;
  };
  return {
    async scan(body) {
      try {
        const socket = await (await clamd()).connect();
        return judge(await instream(socket, body));
      } catch (error) {
        options.log?.(`scan without a verdict: ${error instanceof Error ? error.message : String(error)}`);
        return { verdict: 'error' };
      } finally {
        body.destroy();
      }
    },
    async close() {
      closed = true;
      await (await running?.catch(() => undefined))?.stop();
    },
  };
}

/** clamd's INSTREAM: chunks with their length before them, an empty one at the end, then one line of answer. */
async function instream(socket: Socket, body: Readable): Promise<string> {
  socket.setTimeout(idleMs, () => socket.destroy(new Error('clamd does not answer')));
  let reply = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    reply = (reply + text).slice(0, mostReply);
  });
  const answered = once(socket, 'close').then(() => reply);
  // The error is told by `close` coming without an answer, or by the write that failed.
  answered.catch(() => {});
  try {
    await send(socket, 'zINSTREAM\0');
    for await (const chunk of body as AsyncIterable<Buffer>) {
      // Over its limit clamd answers at once and hangs up.
      if (socket.destroyed || reply) break;
      if (chunk.length === 0) continue;
      const length = Buffer.alloc(4);
      length.writeUInt32BE(chunk.length);
      await send(socket, Buffer.concat([length, chunk]));
    }
    await send(socket, Buffer.alloc(4));
    return await answered;
  } catch (error) {
    if (reply) return reply;
    throw error;
  } finally {
    socket.destroy();
  }
}

/** Waits until there is room for more, so that a slow scan holds no file in memory. */
async function send(socket: Socket, data: Buffer | string): Promise<void> {
  if (socket.destroyed || socket.writableEnded) return;
  await new Promise<void>((resolve, reject) => socket.write(data, (error) => (error ? reject(error) : resolve())));
}

function judge(reply: string): Scanned {
  const line = reply.replace(/\0[^]*$/, '').trim();
  if (line === 'stream: OK') return { verdict: 'clean' };
  const signature = /^stream: (.+) FOUND$/.exec(line)?.[1];
  if (signature?.startsWith('Heuristics.Limits.Exceeded')) throw new Error(`clamd's limits: ${signature}`);
  // ClamAV says so of every signature that is not from its own database.
  if (signature !== undefined) return { verdict: 'infected', signature: signature.replace(/\.UNOFFICIAL$/, '') };
  throw new Error(line || 'clamd hung up');
}
