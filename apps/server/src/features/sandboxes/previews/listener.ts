import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ApiError } from '../../../kernel/base/errors.ts';
import { Strangers } from '../../../kernel/mount/strangers.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../../kernel/work/loop.ts';
import { Share } from '../../../kernel/share/share.ts';
import type { Nodes } from '../nodes/nodes.ts';
import {
  type AskedPreview,
  askedOf,
  hashOf,
  headersInside,
  headersOutside,
  headOf,
  headOfUpgrade,
  isBrowser,
  ownOriginOf,
} from './address.ts';
import { type FoundPreview, findPreview, validPreviews } from './previews.sql.ts';

/** Any other `Upgrade` is an offer that may be passed over: HTTP/2 is offered by many clients (RFC 9110, 7.8). */
const isWebSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';

/** Connections into sandboxes at a time; a browser opens six, and a socket for each page. */
const limits = { total: 1_024, ofOne: 512, of: { preview: 64, sandbox: 128 } };
/** Connections that wait for a request with a valid token; of more, the oldest is ended. */
const mostWaiting = 256;
const waitMs = 10_000;
/** A body, and anything else, that brings nothing for this long is ended. */
const bodyIdleMs = 60_000;
const idleMs = 15 * 60_000;
/** How often what is open is looked at: it ends within 10 s after its key or account may not go on. */
const lookEveryMs = 3_000;
/** Tokens that are looked up at once, and that wait for it: strangers must not keep the database busy. */
const lookups = { total: 8, ofOne: 8, waitingOfOne: 1_024 };
/** The callers are not known yet: all of them stand in one line. */
const strangers = '';

interface Admitted {
  asked: AskedPreview;
  row: FoundPreview;
  /** Until the address is void. */
  leftMs: number;
}

/** The answer to a request that is not forwarded. */
interface Refusal {
  status: number;
  text: string;
  headers?: Record<string, string> | undefined;
}

/** A connection from outside that was let through. */
interface Passage {
  /** Hash of its token, in hex. */
  readonly preview: string;
  readonly client: Socket;
  readonly inside: Duplex;
  readonly isUploading: () => boolean;
  /** Bytes that went through, and the time of the last one. */
  bytes: number;
  since: number;
}

const invalid: Refusal = { status: 403, text: 'This address is not valid.' };
const unreachable: Refusal = { status: 502, text: 'The sandbox does not answer on this port.' };
const tooMany: Refusal = {
  status: 503,
  text: 'This address has too many connections; close some, or try again in a moment.',
  headers: { 'retry-after': '1' },
};

/** Forwards HTTP and WebSocket to ports inside sandboxes. */
export class PreviewListener {
  readonly #kernel: Kernel;
  readonly #nodes: Nodes;
  readonly #server: Server;
  readonly #strangers: Strangers;
  readonly #lookups = new Share(lookups);
  readonly #open = new Share(limits);
  readonly #passages = new Set<Passage>();
  /** Connections without a passage, since when, oldest first. */
  readonly #waiting = new Map<Socket, number>();
  #watching: Loop | undefined;

  constructor(kernel: Kernel, nodes: Nodes) {
    this.#kernel = kernel;
    this.#nodes = nodes;
    this.#strangers = new Strangers(kernel, 'addresses of previews');
    // Pages inside may stream for as long as their address is valid; what is idle is ended by `#look`.
    this.#server = createServer({ requestTimeout: 0, shouldUpgradeCallback: isWebSocket }, (request, response) => {
      this.#forward(request, response).catch((err: unknown) => this.#broken(err, response));
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#wait(socket);
      socket.once('close', () => this.#waiting.delete(socket));
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => {});
      this.#upgrade(request, socket as Socket, head).catch((err: unknown) => {
        this.#kernel.log.debug({ err }, 'a preview was not upgraded');
        refuse(socket, unreachable);
      });
    });
  }

  /** Listens; answers false when the port is taken. */
  listen(): Promise<boolean> {
    const { config, log } = this.#kernel;
    this.#watching = startLoop(this.#kernel, {
      name: 'sandboxes.previews',
      everyMs: lookEveryMs,
      work: () => this.#look(),
    });
    return new Promise((resolve) => {
      this.#server.once('error', (err) => {
        log.warn({ err, port: config.previewPort }, 'no previews; set SVC_PREVIEW_PORT to a free port');
        resolve(false);
      });
      this.#server.listen(config.previewPort, config.host, () => resolve(true));
    });
  }

  /** Undefined while it does not listen. */
  get port(): number | undefined {
    return (this.#server.address() as AddressInfo | null)?.port;
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    for (const passage of this.#passages) end(passage);
    await this.#watching?.stop();
  }

  /** Ends what waits too long, what is idle, and what may not go on. */
  async #look(): Promise<void> {
    const { sql, clock } = this.#kernel;
    const now = clock.monotonic();
    for (const [socket, since] of this.#waiting) if (now - since >= waitMs) socket.destroy();
    for (const passage of this.#passages) if (isIdle(passage, now)) end(passage);
    const open = [...this.#passages];
    if (open.length === 0) return;
    const valid = new Set(await validPreviews(sql, clock, [...new Set(open.map(({ preview }) => preview))]));
    for (const passage of open) if (!valid.has(passage.preview)) end(passage);
  }

  /** Counts a connection among those that have nothing under way. */
  #wait(socket: Socket): void {
    this.#waiting.delete(socket);
    if (socket.destroyed) return;
    this.#waiting.set(socket, this.#kernel.clock.monotonic());
    if (this.#waiting.size > mostWaiting) this.#waiting.keys().next().value?.destroy();
  }

  /** The token first: without one a caller learns nothing. */
  async #admit(request: IncomingMessage): Promise<Admitted | Refusal> {
    const { config, sql, clock } = this.#kernel;
    const { headers } = request;
    const asked = askedOf(request.url ?? '/', headers, config.previewDomain);
    if (!asked) return invalid;
    const row = await this.#lookups.run(strangers, () => findPreview(sql, clock, hashOf(asked.token)));
    if (!row || (asked.port !== undefined && asked.port !== row.port)) return this.#refuseStranger(request);
    if (asked.by === 'path' && isBrowser(headers)) return toOwnOrigin(asked, request);
    return { asked, row, leftMs: row.left_ms };
  }

  #refuseStranger({ socket }: IncomingMessage): Refusal {
    const refusal = new ApiError('forbidden', invalid.text);
    const { status, message, headers } = this.#strangers.refuse(socket.remoteAddress ?? '', refusal);
    return { status, text: message, headers };
  }

  /** Connects a client to the port that it may reach. */
  async #pass({ asked, row, leftMs }: Admitted, client: Socket, isUploading: () => boolean) {
    const preview = hashOf(asked.token).toString('hex');
    const giveBack = this.#open.take(row.account_id, {
      of: { preview, sandbox: row.sandbox_id },
      end: () => client.destroy(),
    });
    if (!giveBack) return tooMany;
    const { clock } = this.#kernel;
    // Its node may be starting again, which takes longer than a connection without a request may wait.
    this.#waiting.delete(client);
    const inside = await this.#dial(row).catch(() => undefined);
    inside?.on('error', () => {});
    if (!inside || inside.destroyed || client.destroyed) {
      inside?.destroy();
      giveBack();
      this.#wait(client);
      return unreachable;
    }
    const passage: Passage = { preview, client, inside, isUploading, bytes: 0, since: clock.monotonic() };
    const cancel = clock.after(leftMs, () => end(passage));
    const over = (): void => void inside.destroy();
    this.#passages.add(passage);
    client.once('close', over);
    inside.once('close', () => {
      cancel();
      giveBack();
      client.off('close', over);
      this.#passages.delete(passage);
    });
    return passage;
  }

  async #dial({ sandbox_id: sandboxId, node_id: nodeId, port }: FoundPreview): Promise<Duplex> {
    return this.#nodes.whenThere(nodeId, (node) => node.connect(sandboxId, port));
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const admitted = await this.#admit(request);
    if ('status' in admitted) return answer(response, admitted);
    const { asked, row } = admitted;
    const preview = { port: row.port, asked };
    const client = request.socket;
    const passage = await this.#pass(admitted, client, () => !request.complete);
    if ('status' in passage) return answer(response, passage);
    const inner = httpRequest({
      method: request.method,
      path: asked.path,
      headers: headersInside(request.headers, preview),
      createConnection: () => passage.inside,
    });
    response.once('close', () => {
      passage.inside.destroy();
      this.#wait(client);
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      inner.once('response', resolve).once('error', reject);
    });
    // A body that the inner page does not read is no failure: the page may have answered already.
    pipeline(request, inner).catch(() => {});
    const page = await answered;
    response.writeHead(page.statusCode ?? 502, headersOutside(page, request, preview));
    await pipeline(page, response).catch(() => response.destroy());
  }

  /** WebSocket only, and a tunnel only once the page inside has agreed: until then it is a request like others. */
  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const admitted = await this.#admit(request);
    if ('status' in admitted) return refuse(socket, admitted);
    const { asked, row } = admitted;
    const passage = await this.#pass(admitted, socket, () => false);
    if ('status' in passage) return refuse(socket, passage);
    const { inside } = passage;
    const preview = { port: row.port, asked };
    const kept = headersInside(request.headers, preview);
    const headers = { ...kept, connection: 'Upgrade', upgrade: 'websocket' };
    const inner = httpRequest({ path: asked.path, headers, createConnection: () => inside });
    inside.once('close', () => {
      // The last bytes still go out; a client that does not take them waits no longer than others.
      socket.destroySoon();
      this.#wait(socket);
    });
    const decline = (): void => {
      refuse(socket, unreachable);
      inside.destroy();
    };
    inner.once('error', decline);
    // A refusal of the page goes to the client: it may say to log in, or redirect.
    inner.once('response', (page: IncomingMessage) => {
      inner.off('error', decline).on('error', () => {});
      socket.write(headOf(page.statusCode ?? 502, headersOutside(page, request, preview)));
      pipeline(page, socket).catch(() => socket.destroy());
    });
    inner.once('upgrade', (answered: IncomingMessage, tunnel: Duplex, first: Buffer) => {
      inner.off('error', decline).on('error', () => {});
      socket.write(headOfUpgrade(answered));
      socket.write(first);
      tunnel.write(head);
      tunnel.pipe(socket);
      socket.pipe(tunnel);
    });
    inner.end();
  }

  #broken(err: unknown, response: ServerResponse): void {
    this.#kernel.log.debug({ err }, 'a preview was not forwarded');
    if (response.headersSent) response.destroy();
    else answer(response, err instanceof ApiError ? { status: err.status, text: err.message } : unreachable);
  }
}

function end({ client, inside }: Passage): void {
  inside.destroy();
  client.destroy();
}

/** Whether nothing went through for too long. */
function isIdle(passage: Passage, now: number): boolean {
  const { client, isUploading } = passage;
  const bytes = client.bytesRead + client.bytesWritten;
  if (bytes !== passage.bytes) Object.assign(passage, { bytes, since: now });
  return now - passage.since >= (isUploading() ? bodyIdleMs : idleMs);
}

function toOwnOrigin(asked: AskedPreview, { headers }: IncomingMessage): Refusal {
  const location = ownOriginOf(asked, headers);
  if (location !== undefined) return { status: 307, text: location, headers: { location } };
  return { status: 403, text: 'Browsers on other machines need SVC_PREVIEW_DOMAIN: an origin for each preview.' };
}

/** The connection of a request that is refused carries no further one: the next may be a stranger's too. */
function answer(response: ServerResponse, { status, text, headers }: Refusal): void {
  const plain = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' };
  response.writeHead(status, { ...plain, 'referrer-policy': 'no-referrer', ...headers });
  response.end(`${text}\n`);
}

function refuse(socket: Duplex, { status, headers = {} }: Refusal): void {
  socket.end(headOf(status, { ...headers, 'content-length': '0' }));
}
