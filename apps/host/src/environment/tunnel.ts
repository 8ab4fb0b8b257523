import { networkInterfaces } from 'node:os';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setInterval } from 'node:timers';
import { mostUsersBytes } from '@svc/contract';
import { asSocket } from '@svc/tunnel';
import { createWebSocketStream, WebSocket } from 'ws';
import { onRefusal } from '../relay-refusal.ts';

/** What a relay asks of this machine. */
export interface TunnelService {
  /** A line of JSON; told at once, and every 10 s. */
  report(): Promise<string>;
  /** Resolves when a command ran. */
  noop(): Promise<void>;
  /** Undefined: this port may be reached; else why not. */
  refusePort(port: number, isPublished: boolean): Promise<string | undefined>;
  /** Makes Linux users of members, as `relayUsers` lists them; undefined: this machine has none. */
  users(list: unknown): Promise<string[] | undefined>;
  /** Opens a terminal with what is given back, or says why not. `linuxUser`: that of the member. */
  terminal(linuxUser: string | undefined): Promise<OpenTerminal | string>;
}

/** Runs a terminal over a stream that was answered. */
type OpenTerminal = (stream: ServerHttp2Stream, size: { cols: number; rows: number }) => void;

/** Where a tunnel goes. */
interface TunnelOptions {
  /** `{relay_url}/v1/environments/{id}/serve`. */
  url: string;
  key: string;
  deviceId: string;
  service: TunnelService;
  /** Ends it. */
  signal: AbortSignal;
}

/** The relay refused the connection. */
export class Refused extends Error {
  override name = 'Refused';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const reportEveryMs = 10_000;
/** The relay pings every 10 s: from one that is silent for so long nothing will come any more. */
const silenceMs = 20_000;
const lookEveryMs = 2_500;
/** A machine whose timers stood still for so long slept: its connection is worth nothing. */
const sleptMs = 15_000;
const openMs = 15_000;
const mostStreams = 256;
const streamWindow = 256 * 1024;
const sessionWindow = 16 * 1024 * 1024;
const mostMessageBytes = 4 * 1024 * 1024;

/** Serves a relay over one connection until it is over. Throws `Refused` when the relay takes none. */
export async function serveTunnel({ url, key, deviceId, service, signal }: TunnelOptions): Promise<void> {
  signal.throwIfAborted();
  const headers = { authorization: `Bearer ${key}`, 'x-svc-device': deviceId };
  const socket = new WebSocket(url.replace(/^http/, 'ws'), {
    headers,
    perMessageDeflate: false,
    maxPayload: mostMessageBytes,
    handshakeTimeout: openMs,
  });
  // Before it is open: its first bytes come at once.
  const stream = createWebSocketStream(socket);
  stream.on('error', () => {});
  const stop = (): void => socket.terminate();
  signal.addEventListener('abort', stop, { once: true });
  const watching = watch(socket);
  try {
    const closed = closedOf(socket);
    await openedOf(socket);
    serveOver(await asSocket(stream), service);
    await closed;
  } finally {
    clearInterval(watching);
    signal.removeEventListener('abort', stop);
    socket.terminate();
  }
}

/** Ends a connection from which nothing comes: also after the machine slept. */
function watch(socket: WebSocket): NodeJS.Timeout {
  let heardAt = performance.now();
  let lookedAt = Date.now();
  const heard = (): void => void (heardAt = performance.now());
  let ownAddress: string | undefined;
  socket.on('ping', heard).on('message', heard).on('open', heard);
  socket.once('upgrade', ({ socket: under }) => (ownAddress = under.localAddress));
  return setInterval(() => {
    const slept = Date.now() - lookedAt > sleptMs;
    lookedAt = Date.now();
    if (slept || performance.now() - heardAt > silenceMs || !isOwn(ownAddress)) socket.terminate();
  }, lookEveryMs);
}

/** A connection from an address that the machine has no more hears nothing of it: it would time out first. */
function isOwn(address: string | undefined): boolean {
  if (address === undefined) return true;
  const plain = address.replace(/^::ffff:/, '').replace(/%.*$/, '');
  return Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === plain));
}

const closedOf = (socket: WebSocket): Promise<void> =>
  new Promise((resolve) => void socket.once('close', () => resolve()));

function openedOf(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the relay closed the connection')));
    onRefusal(socket, ({ status, message = 'no sentence' }) => reject(new Refused(status, message)));
  });
}

/** Answers a relay as the server of HTTP/2. */
function serveOver(socket: Socket, service: TunnelService): void {
  const inside = new Set<Socket>();
  const server = createServer({ settings: { initialWindowSize: streamWindow, maxConcurrentStreams: mostStreams } });
  server.on('session', (session: ServerHttp2Session) => {
    session.on('error', () => {});
    session.setLocalWindowSize(sessionWindow);
  });
  server.on('stream', (stream: ServerHttp2Stream, asked: IncomingHttpHeaders) => {
    // A `close` follows.
    stream.on('error', () => {});
    answer(stream, asked, service, inside).catch(() => stream.close());
  });
  socket.on('error', () => {});
  socket.once('close', () => {
    // A stream that was just opened is not told of it by its session.
    for (const one of inside) one.destroy();
  });
  server.emit('connection', socket);
}

async function answer(
  stream: ServerHttp2Stream,
  asked: IncomingHttpHeaders,
  service: TunnelService,
  inside: Set<Socket>,
): Promise<void> {
  if (asked[':method'] === 'CONNECT') return connectPort(stream, asked, service, inside);
  const { pathname, searchParams } = new URL(String(asked[':path']), 'http://daemon');
  if (pathname === '/report') return report(stream, service);
  if (pathname === '/noop') return noop(stream, service);
  if (pathname === '/users') return users(stream, service);
  if (pathname !== '/terminal') return refuse(stream, 404, 'this daemon does not know it');
  const linuxUser = asked['x-svc-linux-user'];
  const opened = await service.terminal(linuxUser === undefined ? undefined : String(linuxUser));
  if (typeof opened === 'string') return refuse(stream, 403, opened);
  stream.respond({ ':status': 200 });
  opened(stream, { cols: sizeOf(searchParams, 'cols', 80), rows: sizeOf(searchParams, 'rows', 24) });
}

async function users(stream: ServerHttp2Stream, service: TunnelService): Promise<void> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostUsersBytes) return refuse(stream, 413, 'the list of members is too long');
    chunks.push(chunk);
  }
  const provisioned = await service.users(JSON.parse(Buffer.concat(chunks).toString()));
  if (provisioned === undefined) return refuse(stream, 403, 'the policy of this machine makes no Linux users');
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'content-type': 'application/json' });
  stream.end(JSON.stringify({ provisioned }));
}

const sizeOf = (query: URLSearchParams, name: string, usual: number): number => {
  const given = Number(query.get(name) ?? usual);
  return Number.isInteger(given) && given >= 1 && given <= 1_000 ? given : usual;
};

function refuse(stream: ServerHttp2Stream, status: number, message: string): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': status });
  stream.end(JSON.stringify({ message }));
}

async function connectPort(
  stream: ServerHttp2Stream,
  asked: IncomingHttpHeaders,
  service: TunnelService,
  inside: Set<Socket>,
): Promise<void> {
  // Whatever host a relay may name: this machine is reached over loopback alone.
  const port = Number(/^127\.0\.0\.1:(\d{1,5})$/.exec(String(asked[':authority']))?.[1]);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return refuse(stream, 400, 'no port of loopback is named');
  const refusal = await service.refusePort(port, asked['x-svc-published'] === '1');
  if (refusal !== undefined) return refuse(stream, 403, refusal);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  inside.add(socket);
  socket.once('close', () => {
    inside.delete(socket);
    stream.close();
  });
  socket.once('connect', () => {
    if (stream.destroyed) socket.destroy();
    else {
      stream.respond({ ':status': 200 });
      stream.pipe(socket).pipe(stream);
    }
  });
  socket.once('error', () => {
    if (!stream.headersSent) refuse(stream, 502, `nothing listens on port ${port} of this machine`);
  });
  stream.once('close', () => socket.destroy());
}

async function report(stream: ServerHttp2Stream, service: TunnelService): Promise<void> {
  stream.respond({ ':status': 200, 'content-type': 'application/x-ndjson' });
  const tell = async (): Promise<void> => {
    // One that the relay has not read yet stands for the next: reports do not pile up.
    if (!stream.destroyed && stream.writableLength === 0) stream.write(`${await service.report()}\n`);
  };
  await tell();
  const telling = setInterval(() => void tell().catch(() => stream.close()), reportEveryMs);
  stream.once('close', () => clearInterval(telling));
  stream.resume();
}

async function noop(stream: ServerHttp2Stream, service: TunnelService): Promise<void> {
  const status = await service.noop().then(
    () => 204,
    () => 503,
  );
  if (!stream.destroyed) stream.respond({ ':status': status }, { endStream: true });
}
