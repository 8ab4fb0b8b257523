import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** A request to an address that the operator named. */
interface UpstreamRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | string | LongBody | StreamedBody;
  /** Ends the request, and the answer's body with it. */
  readonly signal: AbortSignal;
  /** Milliseconds until the connection is there. */
  readonly connectMs: number;
}

/** A body that is read while it is sent: a recording of 25 MB as a buffer would cost as much memory for each request. */
interface StreamedBody {
  readonly stream: Readable;
  /** Bytes; the request fails when the stream has more or fewer. */
  readonly length: number;
}

const pieceBytes = 64 * 1024;

/** A body that is let go as soon as it is sent: an answer may take minutes. */
export class LongBody {
  readonly length: number;
  #bytes: Buffer | undefined;
  readonly #onSent: () => void;

  constructor(body: Buffer | string, onSent: () => void) {
    this.#bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.length = this.#bytes.length;
    this.#onSent = onSent;
  }

  /** In hex; before it is sent. */
  sha256(): string {
    return createHash('sha256')
      .update(this.#bytes ?? '')
      .digest('hex');
  }

  /** Its bytes, once. */
  async *pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; this.#bytes && at < this.length; at += pieceBytes) yield this.#bytes.subarray(at, at + pieceBytes);
    this.#bytes = undefined;
    this.#onSent();
  }
}

/** The head of an answer; its body comes as it is read, decoded. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** Keeps connections to addresses that the operator named, such as those of model providers. No address is judged. */
export interface Upstream {
  /** Asks; every status is an answer. Throws what kept it from one. */
  ask(url: string, request: UpstreamRequest): Promise<UpstreamAnswer>;
  close(): Promise<void>;
}

/** Streams at once to one origin: each holds a connection. */
const mostConnections = 4_096;
const idleMs = 30_000;

/** Makes the client; connections are opened as they are needed. */
export function createUpstream(): Upstream {
  const pools = new Map<string, Promise<import('undici').Pool>>();
  const poolOf = (origin: string, connectMs: number): Promise<import('undici').Pool> => {
    const key = `${connectMs} ${origin}`;
    let pool = pools.get(key);
    // 26 MB and 80 ms, measured: loaded by the first request only.
    pool ??= import('undici').then(
      ({ Pool }) =>
        new Pool(origin, {
          connections: mostConnections,
          connect: { timeout: connectMs },
          keepAliveTimeout: idleMs,
          // The caller's own timers end a request that takes too long.
          headersTimeout: 0,
          bodyTimeout: 0,
          pipelining: 1,
        }),
    );
    pools.set(key, pool);
    return pool;
  };
  return {
    async ask(url, { method, headers, body, signal, connectMs }) {
      const { origin, pathname, search } = new URL(url);
      const pool = await poolOf(origin, connectMs);
      const isStreamed = body !== undefined && typeof body === 'object' && 'stream' in body;
      const isLong = body instanceof LongBody;
      const length = (isLong || isStreamed) && { 'content-length': String(body.length) };
      const answer = await pool.request({
        path: pathname + search,
        method: method,
        headers: { ...headers, 'accept-encoding': 'identity', ...length },
        body: isLong ? Readable.from(body.pieces(), { objectMode: false }) : isStreamed ? body.stream : (body ?? null),
        signal,
      });
      // A reader that stops destroys the body, which then reports an error again.
      answer.body.on('error', () => {});
      const { statusCode: status, headers: said } = answer;
      return { status, headers: said, body: decoded(answer.body, said['content-encoding']) };
    },
    async close() {
      await Promise.all([...pools.values()].map(async (pool) => (await pool).destroy()));
    },
  };
}

/** Some encode what they were asked to leave plain. */
function decoded(body: Readable, encoding: string | string[] | undefined): Readable {
  const name = String(encoding ?? '').toLowerCase();
  const decoder =
    name === 'gzip' || name === 'x-gzip'
      ? createGunzip()
      : name === 'deflate'
        ? createInflate()
        : name === 'br'
          ? createBrotliDecompress()
          : undefined;
  if (!decoder) return body;
  body.on('error', (error) => decoder.destroy(error));
  decoder.on('error', () => body.destroy());
  decoder.on('close', () => body.destroy());
  return body.pipe(decoder);
}
