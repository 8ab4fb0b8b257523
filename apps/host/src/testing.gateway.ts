import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { OpOutcome } from './report.ts';
import { type FakeScheduler, fakeScheduler } from './testing.scheduler.ts';

/** A key of the gateway's form, for tests only. */
export const testKey = `svc_${'k'.repeat(38)}`;

/** An open hosts stream, seen from the gateway. */
interface HostStream {
  deviceId: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  /** Writes a named frame. */
  send(event: string, data: unknown): void;
  /** Writes the comment that keeps a stream alive. */
  ping(): void;
  /** Cuts the connection. */
  drop(): void;
}

/** A small gateway: the hosts routes over real HTTP, one account, no database. */
export interface FakeGateway {
  readonly url: string;
  /** The next hosts stream that opens (or opened and was not asked for yet). */
  stream(): Promise<HostStream>;
  /** Sends an operation to the open stream; answers what the host posts. */
  exec(op: string, args?: object, timeoutMs?: number, beside?: object): { reqId: string; outcome: Promise<OpOutcome> };
  /** The routes of the scheduler. */
  readonly scheduler: FakeScheduler;
  /** Answers requests before the routes do: true when it has. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  start(): Promise<void>;
}

/** Who is present and who waits for what. */
interface State {
  present: Map<string, HostStream>;
  pending: Map<string, (outcome: OpOutcome) => void>;
  /** Streams that opened and were not asked for, and those who ask for the next. */
  opened: HostStream[];
  waiting: ((host: HostStream) => void)[];
}

/** Starts a gateway that stops when the test ends. */
export async function fakeGateway(test: TestContext): Promise<FakeGateway> {
  const state: State = { present: new Map(), pending: new Map(), opened: [], waiting: [] };
  let server: Server | undefined;
  let port = 0;
  const gateway: FakeGateway = {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    stream() {
      const host = state.opened.shift();
      return host ? Promise.resolve(host) : new Promise((resolve) => state.waiting.push(resolve));
    },
    exec(op, args = {}, timeoutMs = 30_000, beside = {}) {
      const [host] = state.present.values();
      if (!host) throw new Error('no host is present');
      return relay(state, host, { ...beside, op, args, timeout_ms: timeoutMs });
    },
    scheduler: fakeScheduler(jsonOf),
    intercept: undefined,
    async stop() {
      const stopping = server;
      server = undefined;
      if (!stopping) return;
      stopping.closeAllConnections();
      await new Promise((resolve) => stopping.close(resolve));
    },
    async start() {
      server = createServer((request, response) => {
        if (gateway.intercept?.(request, response)) return;
        serve(gateway, state, request, response).catch(() => response.destroy());
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      port = (server.address() as AddressInfo).port;
    },
  };
  await gateway.start();
  test.after(() => gateway.stop());
  return gateway;
}

async function serve(
  gateway: FakeGateway,
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '', 'http://gateway');
  if (request.headers.authorization !== `Bearer ${testKey}`) return refuse(response, 401, 'invalid_api_key');
  if (url.pathname === '/v1/hosts') {
    return answer(response, 200, { hosts: [...state.present.values()].map(hostRecord) });
  }
  // Only then: a stream that opened must have been written to before its test goes on.
  if (gateway.scheduler.serves(url.pathname)) {
    if (await gateway.scheduler.serve(request, response, url.pathname)) return;
    return refuse(response, 404, 'not_found');
  }
  if (url.pathname === '/v1/hosts/stream') return openStream(state, request, response, url.searchParams);
  const reqId = /^\/v1\/hosts\/exec\/([^/]+)\/result$/.exec(url.pathname)?.[1];
  if (reqId !== undefined) {
    const outcome = (await jsonOf(request)) as OpOutcome;
    state.pending.get(reqId)?.(outcome);
    return state.pending.delete(reqId) ? answer(response, 200, { ok: true }) : refuse(response, 404, 'not_found');
  }
  const target = /^\/v1\/hosts\/([^/]+)\/exec$/.exec(url.pathname)?.[1];
  if (target === undefined) return refuse(response, 404, 'not_found');
  const body = (await jsonOf(request)) as object;
  const host = state.present.get(target);
  if (!host) return refuse(response, 409, 'host_offline');
  const { reqId: id, outcome } = relay(state, host, { ...body, from_device_id: request.headers['x-svc-device'] });
  response.on('close', () => {
    if (!response.writableEnded) host.send('exec_cancel', { req_id: id });
  });
  answer(response, 200, { req_id: id, ...(await outcome) });
}

function relay(state: State, host: HostStream, body: object): { reqId: string; outcome: Promise<OpOutcome> } {
  const reqId = randomUUID();
  const outcome = new Promise<OpOutcome>((resolve) => state.pending.set(reqId, resolve));
  host.send('exec', { args: {}, timeout_ms: 30_000, ...body, req_id: reqId, deadline: 0 });
  return { reqId, outcome };
}

function openStream(state: State, request: IncomingMessage, response: ServerResponse, query: URLSearchParams): void {
  const deviceId = String(request.headers['x-svc-device']);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const host: HostStream = {
    deviceId,
    query,
    headers: request.headers,
    send: (event, data) => void response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
    ping: () => void response.write(': ping\n\n'),
    drop: () => response.destroy(),
  };
  state.present.set(deviceId, host);
  response.on('close', () => {
    if (state.present.get(deviceId) === host) state.present.delete(deviceId);
  });
  host.send('ready', { device_id: deviceId, since: Date.now() });
  const take = state.waiting.shift();
  if (take) take(host);
  else state.opened.push(host);
}

/** Answers a request of the fake gateway with JSON. */
export function answer(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Answers with the error envelope. */
export function refuse(response: ServerResponse, status: number, code: string, headers: object = {}): void {
  const traced = { 'x-svc-trace-id': randomUUID(), ...headers };
  answer(response, status, { error: { message: 'refused by the test', type: 'test', code } }, traced);
}

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}

function hostRecord(host: HostStream) {
  const text = (name: string) => host.query.get(name) ?? '';
  return {
    device_id: host.deviceId,
    name: String(host.headers['x-svc-device-name']),
    platform: 'desktop',
    os: text('os'),
    hostname: text('hostname'),
    roots: text('roots').split(','),
    since: 1_700_000_000_000,
    last_seen: 1_700_000_000_000,
  };
}
