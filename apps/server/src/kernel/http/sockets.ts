import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../base/clock.ts';
import { ApiError, badRequest } from '../base/errors.ts';

/** Requests that may become a WebSocket, and what they came on. */
const upgrades = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer }>();

/** A browser cannot set headers: it names its token as a protocol, as clients of OpenAI do. */
const keyProtocol = /^(?:openai-insecure-api-key|svc-token)\.(\S+)$/;

/** Time for the close frames when the process stops (milliseconds). */
const drainMs = 3_000;

/** Ends a WebSocket, with a code and a reason that its client may see. */
type End = (code: number, reason: string) => void;

/** The WebSockets of one server: the paths that are one, and those open sockets that the kernel ends by itself. */
export class Sockets {
  readonly #clock: Clock;
  readonly #paths: RegExp[] = [];
  readonly #open = new Set<End>();
  readonly #drained = Promise.withResolvers<void>();
  #isDraining = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From now on requests for this path of the contract may become a WebSocket. */
  add(path: string): void {
    const pattern = path
      .replaceAll('.', '\\.')
      .replace(/\{\w+\*\}$/, '.*')
      .replace(/\{\w+\}/g, '[^/?]+');
    this.#paths.push(new RegExp(`^${pattern}(?:\\?|$)`));
  }

  /**
   * Whether a request leaves HTTP: a WebSocket of a route that is one. Any other `Upgrade` is passed over, as some clients
   * ask for HTTP/2 with each request, and send a body with it.
   */
  readonly shouldUpgrade = ({ method, url = '', headers }: IncomingMessage): boolean =>
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    this.#paths.some((pattern) => pattern.test(url));

  /** Calls `end` when the process stops, at once when it stops already; answers how to forget it. */
  hold(end: End): () => void {
    this.#open.add(end);
    if (this.#isDraining) end(1001, shuttingDown);
    return () => {
      this.#open.delete(end);
      if (this.#isDraining && this.#open.size === 0) this.#drained.resolve();
    };
  }

  /** Ends every socket that is held, and waits until all are closed, 3 s at most. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    if (this.#open.size === 0) return;
    for (const end of this.#open) end(1001, shuttingDown);
    const cancel = this.#clock.after(drainMs, this.#drained.resolve);
    await this.#drained.promise;
    cancel();
  }
}

const shuttingDown = 'the gateway shuts down; connect again';

/** Lets requests for a WebSocket go the way of every other one: key, scopes, rate and refusals are the same. */
export function mountSockets(app: FastifyInstance): void {
  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const response = new ServerResponse(request);
    // One answer, and this connection ends: what follows could be frames already.
    response.shouldKeepAlive = false;
    socket.on('error', () => socket.destroy());
    response.assignSocket(socket as Socket);
    // A client that does not close its side would hold up the end of the server.
    response.once('finish', () => {
      if (response.socket) (socket as Socket).destroySoon();
    });
    upgrades.set(request, { socket, head });
    app.routing(request, response);
  });
}

const keyShape = /^[+/0-9A-Za-z]{22}==$/;
const protocolShape = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Throws 400 for a request that cannot become a WebSocket (RFC 6455, 4.2.1), before anything is done for it. */
export function checkHandshake(request: IncomingMessage): void {
  const { headers, httpVersion } = request;
  if (!upgrades.has(request)) throw badRequest('this route is a WebSocket; connect with Upgrade: websocket');
  if (httpVersion === '1.0') throw badRequest('a WebSocket needs HTTP/1.1');
  if (!keyShape.test(headers['sec-websocket-key'] ?? ''))
    throw badRequest('Sec-WebSocket-Key: must be 16 bytes in base64');
  if (headers['sec-websocket-version'] !== '13') {
    const message = 'Sec-WebSocket-Version: must be 13';
    throw new ApiError('bad_request', message, { headers: { 'sec-websocket-version': '13' } });
  }
  const named = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim()) ?? [];
  if (named.some((name) => !protocolShape.test(name)) || new Set(named).size < named.length)
    throw badRequest('Sec-WebSocket-Protocol: must be a list of different names');
}

/** The key or token that a request names as a protocol; undefined without one. */
export function keyInProtocols({ headers }: IncomingMessage): string | undefined {
  const named = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim()) ?? [];
  for (const name of named) {
    const key = keyProtocol.exec(name)?.[1];
    if (key !== undefined) return key;
  }
  return undefined;
}

/**
 * Accepts the WebSocket of a request whose handshake was checked; undefined when its client is gone. `opened` has it before
 * its first message.
 */
export function acceptSocket(
  request: IncomingMessage,
  reply: FastifyReply,
  mostBytes: number,
  opened: (socket: WebSocket) => void = () => {},
): Promise<WebSocket | undefined> {
  const upgrade = upgrades.get(request);
  if (!upgrade) return Promise.reject(new Error('the request asks for no WebSocket'));
  const { socket, head } = upgrade;
  const { protocols = [] } = reply.request.routeOptions.config;
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: mostBytes,
    // Audio does not shrink, and a message that was packed may be a bomb.
    perMessageDeflate: false,
    // A message a turn of the loop: of one byte each there are 30,000 in a packet, and everybody else would wait for all.
    allowSynchronousEvents: false,
    handleProtocols: (names) => [...names].find((name) => protocols.includes(name)) ?? false,
  });
  const { promise, resolve } = Promise.withResolvers<WebSocket | undefined>();
  const shared = Object.entries(reply.getHeaders()).map(([name, value]) => `${name}: ${String(value)}`);
  server.once('headers', (headers: string[]) => headers.push(...shared));
  reply.hijack();
  reply.raw.detachSocket(socket as Socket);
  socket.once('close', () => resolve(undefined));
  server.handleUpgrade(request, socket, head, (accepted) => {
    // What breaks the protocol ends the WebSocket, with its `close`; an `error` that nobody hears would end the process.
    accepted.on('error', () => {});
    opened(accepted);
    resolve(accepted);
  });
  // It calls back for no socket that ended before, and a `close` that was is not told again.
  if (socket.destroyed) resolve(undefined);
  return promise;
}

declare module 'fastify' {
  interface FastifyInstance {
    sockets: Sockets;
  }
  interface FastifyContextConfig {
    /** Protocols that its WebSocket may speak. */
    protocols?: readonly string[];
  }
}
