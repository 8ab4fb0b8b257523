import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../base/clock.ts';
import type { ApiError } from '../base/errors.ts';

/** How much of a refused request's body is read past, and for how long. */
export interface Patience {
  bytes: number;
  ms: number;
}

const usual: Patience = { bytes: 16 * 1024 * 1024, ms: 5_000 };
/** For routes that take files. */
export const patienceForFiles: Patience = { bytes: 128 * 1024 * 1024, ms: 30_000 };

/** Clients that wait for `100 Continue` before they send their bodies. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Keeps a client that sent `Expect: 100-continue` waiting until its body is wanted. */
export function holdBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.method === 'GET' || request.method === 'HEAD') response.writeContinue();
  else waiting.set(request, response);
}

/** Has a client that waits for it send its body; to be called before a body is read. */
export function askForBody(request: IncomingMessage): void {
  const response = waiting.get(request);
  if (!response) return;
  response.writeContinue();
  waiting.delete(request);
}

/**
 * Answers refusals. A request may be refused while its body is still coming, and a client that writes reads no answer
 * before it is done: the rest is read past, within bounds, before the connection ends. A connection that ends with bytes
 * unread is reset, and the client hears of a broken pipe instead of the refusal.
 */
export class Refusals {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Answers the envelope of a failure. */
  send(reply: FastifyReply, failure: ApiError): FastifyReply {
    if (failure.headers) reply.headers(failure.headers);
    const text = JSON.stringify({ ...reply.request.routeOptions.config?.errorsBeside, ...failure.envelope() });
    reply.code(failure.status).type('application/json; charset=utf-8');
    const { raw } = reply.request;
    if (raw.complete || !hasBody(raw)) return reply.send(text);
    const patience = reply.request.routeOptions.config?.patience ?? usual;
    const rest = readPast(this.#clock, raw, patience);
    const isLong = Number(raw.headers['content-length'] ?? 0) > patience.bytes;
    // A client that was not asked for its body may send it or not: what comes next on the connection has no meaning.
    if (!isLong && !waiting.has(raw) && reply.getHeader('connection') !== 'close') {
      void rest.then((isWhole) => isWhole || raw.destroy());
      return reply.send(text);
    }
    reply.headers({ connection: 'close', 'content-length': Buffer.byteLength(text) });
    return reply.send(Readable.from(first(text, rest)));
  }
}

/** Resolves when the body has ended, true, or its client was waited for long enough, false. */
function readPast(clock: Clock, raw: IncomingMessage, { bytes, ms }: Patience): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let length = 0;
  const cancel = clock.after(ms, () => resolve(false));
  raw.unpipe();
  raw.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > bytes) resolve(false);
  });
  raw.once('end', () => resolve(true)).once('close', () => resolve(true));
  raw.once('error', () => resolve(true));
  raw.resume();
  return promise.finally(cancel);
}

/** Reads past the rest of a body that a raw route has no use for; a client that goes on and on is cut off. */
export function dropBody(clock: Clock, raw: IncomingMessage): void {
  if (!raw.complete) void readPast(clock, raw, usual).then((isWhole) => isWhole || raw.destroy());
}

async function* first(text: string, rest: Promise<unknown>): AsyncGenerator<string> {
  yield text;
  await rest;
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
