import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RelayReport, relayReport, type RelayUser, relayUsersProvisioned } from '@svc/contract';
import type { Clock } from '../../kernel/base/clock.ts';
import { ApiError } from '../../kernel/base/errors.ts';

/** What is opened on the machine. */
export type Target =
  | { readonly kind: 'port'; readonly port: number; readonly isPublished: boolean }
  | {
      readonly kind: 'terminal';
      readonly cols: number;
      readonly rows: number;
      /** Whose it is: a machine that has users of members runs it as that one. */
      readonly linuxUser: string | undefined;
    };

/** What a query asks for. */
export const targetOf = (
  { kind, port = 0, cols, rows }: { kind: Target['kind']; port?: number | undefined; cols: number; rows: number },
  { isPublished, linuxUser }: { isPublished: boolean; linuxUser: string | undefined },
): Target => (kind === 'terminal' ? { kind, cols, rows, linuxUser } : { kind, port, isPublished });

/** Bytes of a stream that a side which reads nothing leaves here, at most. */
const streamWindow = 256 * 1024;
/** The same of all streams of a machine: with 64 that stand still, others go on. */
const sessionWindow = 16 * 1024 * 1024;
/** Of one report. */
const mostReportBytes = 64 * 1024;
/** Of a refusal in words. */
const mostRefusalBytes = 4 * 1024;
/** Blocks of headers before the answer of one stream; a daemon of ours sends none. */
const mostHeaderBlocks = 100;
const pingEveryMs = 10_000;
/** A daemon from which nothing comes for so long is gone. */
const silenceMs = 20_000;
const answerMs = 15_000;
const noopMs = 8_000;
/** Two hundred users are made in a minute on a slow machine. */
const provisionMs = 120_000;
const mostProvisionedBytes = 64 * 1024;

/** The connection of one daemon: HTTP/2 inside of its WebSocket, in which the daemon is the server. */
export class Tunnel {
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  readonly #streams = new Set<ClientHttp2Stream>();
  #heardAt: number;

  /** `over`: the WebSocket as a socket. */
  constructor(clock: Clock, over: Socket) {
    this.#clock = clock;
    this.#heardAt = clock.monotonic();
    this.#session = connect('http://daemon', {
      createConnection: () => over,
      settings: { initialWindowSize: streamWindow, enablePush: false },
    });
    // Each stream tells of it too.
    this.#session.on('error', () => {});
    this.#session.once('connect', () => this.#session.setLocalWindowSize(sessionWindow));
    const stop = clock.every(pingEveryMs, () => this.#ping());
    this.#session.once('close', () => {
      stop();
      over.destroy();
      // A stream that was just opened is not told of it by the session.
      for (const stream of this.#streams) stream.destroy(new Error('the connection of the daemon is over'));
    });
    over.once('close', () => this.#session.destroy());
  }

  /** Resolves when it is over. */
  get closed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#session.destroyed) resolve();
      else this.#session.once('close', () => resolve());
    });
  }

  close(): void {
    this.#session.destroy();
  }

  /** Calls `take` with each report, until the connection is over. A line that is none ends the connection. */
  async reports(take: (report: RelayReport) => Promise<void>): Promise<void> {
    const stream = await this.#answered(this.#session.request({ ':method': 'GET', ':path': '/report' }));
    let text = '';
    stream.setEncoding('utf8');
    for await (const chunk of stream as AsyncIterable<string>) {
      text += chunk;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      if (text.length > mostReportBytes) throw new Error('a report has over 64 KiB');
      // What came together is told together: the newest stands for it.
      const line = lines.findLast((each) => each.trim() !== '');
      if (line !== undefined) await take(relayReport.parse(JSON.parse(line)));
    }
  }

  /** Whether a command runs on the machine at this moment. */
  async isUsable(): Promise<boolean> {
    try {
      const asked = this.#session.request({ ':method': 'GET', ':path': '/noop' });
      asked.resume();
      await this.#answered(asked, noopMs);
      return true;
    } catch {
      return false;
    }
  }

  /** Has the machine make Linux users of these members; answers the ids of those whose user is there. */
  async provision(users: readonly RelayUser[]): Promise<string[]> {
    const asked = this.#session.request({ ':method': 'POST', ':path': '/users', 'content-type': 'application/json' });
    asked.end(JSON.stringify({ users }));
    const stream = await this.#answered(asked, provisionMs);
    // A daemon that begins an answer and never ends it must not be waited for.
    const cancel = this.#clock.after(answerMs, () => stream.destroy(offline('did not answer')));
    try {
      const { provisioned } = relayUsersProvisioned.parse(JSON.parse(await textOf(stream, mostProvisionedBytes)));
      return provisioned;
    } finally {
      cancel();
    }
  }

  /** Opens a port, or a terminal as frames. Throws 403 with the words of the machine, 502 where nothing listens. */
  async open(target: Target): Promise<Duplex> {
    return this.#answered(this.#session.request(requestFor(target), { endStream: false }));
  }

  async #answered(stream: ClientHttp2Stream, ms = answerMs): Promise<ClientHttp2Stream> {
    this.#streams.add(stream);
    // Whoever reads it is told by its `close`.
    stream.on('error', () => {});
    stream.once('close', () => this.#streams.delete(stream));
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    // The words of a refusal have to come by then too.
    const cancel = this.#clock.after(ms, () => {
      reject(offline('did not answer'));
      stream.destroy(offline('did not answer'));
    });
    let blocks = 0;
    // Each block runs code here: a machine that sends one after the other has nothing to say.
    stream.on('headers', () => ++blocks > mostHeaderBlocks && this.#session.destroy());
    stream.once('response', (headers) => resolve(Number(headers[':status'])));
    stream.once('error', reject);
    stream.once('close', () => reject(offline('left')));
    try {
      const status = await promise;
      if (status >= 200 && status < 300) return stream;
      throw refusalOf(status, await wordsOf(stream));
    } catch (error) {
      stream.close(constants.NGHTTP2_CANCEL);
      throw error instanceof ApiError ? error : offline('left');
    } finally {
      cancel();
    }
  }

  #ping(): void {
    if (this.#clock.monotonic() - this.#heardAt > silenceMs) return this.#session.destroy();
    if (this.#session.destroyed) return;
    this.#session.ping((error) => {
      if (!error) this.#heardAt = this.#clock.monotonic();
    });
  }
}

const requestFor = (target: Target) =>
  target.kind === 'port'
    ? {
        ':method': 'CONNECT',
        ':authority': `127.0.0.1:${target.port}`,
        'x-svc-published': target.isPublished ? '1' : '0',
      }
    : {
        ':method': 'POST',
        ':path': `/terminal?cols=${target.cols}&rows=${target.rows}`,
        ...(target.linuxUser !== undefined && { 'x-svc-linux-user': target.linuxUser }),
      };

/** 409: the daemon is away, or went away in the middle. */
export const offline = (what = 'is not connected'): ApiError =>
  new ApiError('daemon_offline', `the daemon of this environment ${what}; try again when it is back`);

function refusalOf(status: number, words: string): ApiError {
  if (status === 403) return new ApiError('forbidden', words || 'the machine refuses it: its policy decides');
  if (status === 502) return new ApiError('upstream_error', words || 'nothing listens on this port of the machine');
  return new ApiError('upstream_error', words || `the machine answered ${status}`);
}

/** The sentence of a refusal. */
async function wordsOf(stream: ClientHttp2Stream): Promise<string> {
  try {
    const { message } = JSON.parse(await textOf(stream, mostRefusalBytes)) as { message?: unknown };
    return typeof message === 'string' ? message.slice(0, 500) : '';
  } catch {
    return '';
  }
}

/** All that a stream says, up to a little more than `most` characters. */
async function textOf(stream: ClientHttp2Stream, most: number): Promise<string> {
  let text = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream as AsyncIterable<string>) {
    text += chunk;
    if (text.length > most) break;
  }
  return text;
}
