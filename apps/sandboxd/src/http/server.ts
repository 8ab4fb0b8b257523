import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { terminalSize } from '@svc/sandboxd-api';
import { ZodError } from 'zod';
import { NodeError } from '../error.ts';
import type { SandboxNode } from '../sandboxes/index.ts';
import { openPort } from '../sandboxes/ports.ts';
import { openTerminal } from '../sandboxes/terminals.ts';
import { imageRoutes, nodeRoutes } from './node.ts';
import { type Call, matchOf, type Route } from './route.ts';
import { sandboxRoutes } from './sandboxes.ts';
import { fileRoutes } from './files.ts';

/**
 * How long a kept connection may idle. A gateway asks every few seconds, so its connection never gets that old.
 * With Node's 5 s, a node that stood still for 2 s closed a connection whose request it had not read.
 */
const keepAliveMs = 75_000;

/** The HTTP interface of a node (`apps/sandboxd/README.md`). */
export function createHttpServer(node: SandboxNode): Server {
  const routes: Route[] = [...nodeRoutes, ...imageRoutes, ...sandboxRoutes, ...fileRoutes];
  const options = { requestTimeout: 0, headersTimeout: 30_000, keepAliveTimeout: keepAliveMs };
  const server = createServer(options, (request, response) => {
    answer(node, routes, request, response).catch((error: unknown) => {
      node.parts.log('answer failed', { err: error, url: request.url });
      response.destroy();
    });
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {});
    upgrade(node, request, socket, head).catch((error: unknown) => {
      node.parts.log('upgrade failed', { err: error, url: request.url });
      socket.destroy();
    });
  });
  return server;
}

async function answer(
  node: SandboxNode,
  routes: readonly Route[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  try {
    const url = new URL(request.url ?? '/', 'http://sandboxd');
    const { route, values } = matchOf(routes, request.method ?? '', url.pathname);
    const call: Call = { node, request, response, values, query: url.searchParams, signal: gone.signal };
    const body = await route.run(call);
    if (response.headersSent || response.writableEnded) return;
    if (body === undefined) response.writeHead(204).end();
    else sendJson(response, 200, body);
  } catch (error) {
    const known = asNodeError(error);
    if (known.code === 'internal_error' && !gone.signal.aborted) {
      node.parts.log('request failed', { err: error, url: request.url });
    }
    if (response.headersSent) response.destroy();
    else sendJson(response, known.status, known.body);
    // A body that nobody reads would hold the connection.
    request.unpipe().resume();
  }
}

/** What an upgrade asks for; throws `not_found` and `bad_request`. */
function opened({ context }: SandboxNode, request: IncomingMessage): Promise<Duplex> {
  const url = new URL(request.url ?? '', 'http://sandboxd');
  const [, id = '', what, number] =
    /^\/v1\/sandboxes\/([0-9a-f-]{36})\/(terminal|ports\/(\d{1,5}))$/.exec(url.pathname) ?? [];
  if (what === undefined || request.headers.upgrade !== 'tcp') throw new NodeError('not_found', 'no such route');
  if (what === 'terminal') return openTerminal(context, id, terminalSize.parse(Object.fromEntries(url.searchParams)));
  const port = Number(number);
  // 8080 is the agent's own door to the outside.
  if (port < 1024 || port > 65_535 || port === 8080) throw new NodeError('bad_request', 'port 1024 to 65535, not 8080');
  return openPort(context, id, port);
}

/** `GET …/ports/{port}` and `GET …/terminal` with `Upgrade: tcp`. */
async function upgrade(node: SandboxNode, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  try {
    const inside = await opened(node, request);
    if (socket.destroyed) return void inside.destroy();
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    if (head.length > 0) inside.write(head);
    socket.pipe(inside).pipe(socket);
    socket.once('close', () => inside.destroy());
    inside.once('close', () => socket.end());
  } catch (error) {
    const known = asNodeError(error);
    const body = JSON.stringify(known.body);
    socket.end(
      `HTTP/1.1 ${known.status} Refused\r\nConnection: close\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
}

function asNodeError(error: unknown): NodeError {
  if (error instanceof NodeError) return error;
  if (error instanceof ZodError) {
    const [first] = error.issues;
    return new NodeError('bad_request', `${first?.path.join('.') ?? ''}: ${first?.message ?? 'not valid'}`);
  }
  return new NodeError('internal_error', 'sandboxd failed', { cause: error });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text);
}
