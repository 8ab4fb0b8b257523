import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Nodes } from './sandboxes.nodes.ts';
import {
  type Asked,
  askedOf,
  hashOf,
  headersInside,
  ownCookie,
  setCookiesOutside,
} from './sandboxes.previews.address.ts';
import { findPreview } from './sandboxes.previews.sql.ts';
import { nodeOfRunning } from './sandboxes.sql.ts';

/** Connections into one sandbox at a time; a browser opens six, and a socket for each page. */
const mostConnections = 128;

interface Admitted {
  asked: Asked;
  sandboxId: string;
  port: number;
  /** Until the address is void. */
  leftMs: number;
}

/** Forwards HTTP and WebSocket to ports inside sandboxes. */
export class PreviewListener {
  readonly #kernel: Kernel;
  readonly #nodes: Nodes;
  readonly #server: Server;
  /** Connections that were handed over to both ends. */
  readonly #tunnels = new Set<Duplex>();
  /** How many connections each sandbox has. */
  readonly #open = new Map<string, number>();

  constructor(kernel: Kernel, nodes: Nodes) {
    this.#kernel = kernel;
    this.#nodes = nodes;
    // Pages inside may stream for as long as their address is valid.
    this.#server = createServer({ requestTimeout: 0 }, (request, response) => {
      this.#forward(request, response).catch((err: unknown) => this.#broken(err, response));
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => {});
      this.#upgrade(request, socket, head).catch((err: unknown) => {
        this.#kernel.log.debug({ err }, 'a preview was not upgraded');
        refuse(socket, 502);
      });
    });
  }

  /** Listens; answers false when the port is taken. */
  listen(): Promise<boolean> {
    const { config, log } = this.#kernel;
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

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    for (const tunnel of this.#tunnels) tunnel.destroy();
  }

  /** The token first: whoever has none learns nothing. */
  async #admit(request: IncomingMessage): Promise<Admitted | undefined> {
    const { config, sql, clock } = this.#kernel;
    const asked = askedOf(request.url ?? '/', request.headers, config.previewDomain);
    const row = asked && (await findPreview(sql, clock, hashOf(asked.token)));
    if (!asked || !row || (asked.port !== undefined && asked.port !== row.port)) return undefined;
    return { asked, sandboxId: row.sandbox_id, port: row.port, leftMs: row.left_ms };
  }

  /** A connection to the port inside; undefined when nothing answers there, or the sandbox has too many. */
  async #connect({ sandboxId, port }: Admitted): Promise<Duplex | undefined> {
    const count = (by: number): number => {
      const open = (this.#open.get(sandboxId) ?? 0) + by;
      if (open > 0) this.#open.set(sandboxId, open);
      else this.#open.delete(sandboxId);
      return open;
    };
    if (count(1) <= mostConnections) {
      const socket = await this.#dial(sandboxId, port).catch(() => undefined);
      if (socket && !socket.destroyed) return socket.once('close', () => count(-1));
    }
    count(-1);
    return undefined;
  }

  async #dial(sandboxId: string, port: number): Promise<Duplex> {
    const nodeId = await nodeOfRunning(this.#kernel.sql, sandboxId);
    return this.#nodes.of(nodeId).connect(sandboxId, port);
  }

  #inside(request: IncomingMessage, { asked, port }: Admitted) {
    const isOwnOrigin = this.#kernel.config.previewDomain !== undefined;
    const preview = { port, token: asked.token, isOwnOrigin, proto: isOwnOrigin ? 'https' : 'http' };
    return { preview, headers: headersInside(request.headers, preview) };
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const admitted = await this.#admit(request);
    if (!admitted) return answer(response, 403, 'This address is not valid.');
    // One for the whole listener would see the other previews of its visitor.
    if (!isAllowedScript(request, admitted.asked)) return answer(response, 403, 'Service workers are not forwarded.');
    const { asked, leftMs } = admitted;
    const socket = await this.#connect(admitted);
    if (!socket) return answer(response, 502, 'The sandbox does not answer on this port, or has too many connections.');
    const { preview, headers } = this.#inside(request, admitted);
    const inner = httpRequest({
      method: request.method,
      path: asked.path,
      headers,
      createConnection: () => socket,
    });
    const stop = this.#kernel.clock.after(leftMs, () => socket.destroy());
    response.once('close', () => {
      stop();
      socket.destroy();
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      inner.once('response', resolve).once('error', reject);
    });
    // What the page inside does not read is no failure: it may have answered already.
    pipeline(request, inner).catch(() => {});
    const page = await answered;
    const cookies = setCookiesOutside(page.headers['set-cookie'] ?? [], preview);
    if (asked.setsCookie) cookies.push(ownCookie(asked.token));
    const { connection: _, 'keep-alive': __, 'set-cookie': ___, 'transfer-encoding': ____, ...rest } = page.headers;
    const { 'service-worker-allowed': _____, ...shown } = rest;
    response.writeHead(page.statusCode ?? 502, {
      ...shown,
      ...(cookies.length > 0 && { 'set-cookie': cookies }),
      // A search engine that finds the address must not keep it.
      'x-robots-tag': 'noindex',
      'referrer-policy': 'same-origin',
    });
    await pipeline(page, response).catch(() => response.destroy());
  }

  /** WebSocket only, and a tunnel only once the page inside has agreed: until then it is a request like others. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const admitted = await this.#admit(request);
    if (!admitted || request.headers.upgrade?.toLowerCase() !== 'websocket') return refuse(socket, 403);
    const inside = await this.#connect(admitted);
    if (!inside) return refuse(socket, 502);
    const headers = { ...this.#inside(request, admitted).headers, connection: 'Upgrade', upgrade: 'websocket' };
    const inner = httpRequest({ path: admitted.asked.path, headers, createConnection: () => inside });
    const stop = this.#kernel.clock.after(admitted.leftMs, () => inside.destroy());
    this.#tunnels.add(inside);
    const end = (): void => {
      stop();
      this.#tunnels.delete(inside);
      inside.destroy();
      socket.destroy();
    };
    inside.once('close', end).on('error', end);
    socket.once('close', end);
    inner.once('error', () => refuse(socket, 502));
    inner.once('response', () => refuse(socket, 502));
    inner.once('upgrade', (answered: IncomingMessage, tunnel: Duplex, first: Buffer) => {
      socket.write(headOf(answered));
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
    else answer(response, 502, 'The sandbox does not answer on this port.');
  }
}

const isAllowedScript = ({ headers }: IncomingMessage, { isByPath }: Asked): boolean =>
  headers['service-worker'] === undefined || !isByPath;

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`${text}\n`);
}

/** The page's agreement, as it said it; cookies are set by pages, not by sockets. */
function headOf({ rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}`] : []));
  const kept = lines.filter((line) => !/^set-cookie:/i.test(line));
  return `HTTP/1.1 101 Switching Protocols\r\n${kept.join('\r\n')}\r\n\r\n`;
}

function refuse(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
