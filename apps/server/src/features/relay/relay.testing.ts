import { text } from 'node:stream/consumers';
import type { RelayReport, RelayUser } from '@svc/contract';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { asSocket } from '@svc/tunnel';
import { createWebSocketStream, WebSocket } from 'ws';
import { http, type TestAccount, type TestGateway } from '../../testing.ts';
import { environmentOf } from '../environments/environments.testing.ts';

/** A WebSocket of the relay; fails with the status and the code of a refusal. */
export async function openSocket(url: string, headers: Record<string, string>): Promise<WebSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers, perMessageDeflate: false });
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
  socket.once('open', () => resolve(socket));
  socket.once('error', reject);
  socket.once('unexpected-response', (_request, response) => {
    void response.toArray().then((chunks: Buffer[]) => {
      const { error } = JSON.parse(Buffer.concat(chunks).toString()) as { error: { code: string; message: string } };
      reject(Object.assign(new Error(error.message), { status: response.statusCode, code: error.code }));
    });
  });
  return promise;
}

/** A daemon of a test: what the real one does, told by the test. */
export class TestDaemon {
  readonly socket: WebSocket;
  readonly requests: IncomingHttpHeaders[] = [];
  /** Whether commands run. */
  isUsable = true;
  /** Blocks of headers that it sends before it answers whether commands run. */
  blocks = 0;
  /** It begins every answer but that of its reports, and ends none. */
  isEndless = false;
  report: Omit<RelayReport, 'seq'> = {
    activity: null,
    listeners: [],
    git_state: null,
    locks: [],
    daemon: { daemon_version: '0.1.0', os: 'linux', arch: 'x64', capabilities: ['terminal', 'ports'] },
    provisioned: [],
    policy: { terminal: 'allow', ports: 'published' },
  };
  /** Lists of members that it was told. */
  readonly users: RelayUser[][] = [];
  /** Connections with what listens on the machine. */
  readonly inside = new Set<Socket>();
  readonly #reporting: ServerHttp2Stream[] = [];
  #seq = 0;

  constructor(url: string, headers: Record<string, string>) {
    this.socket = new WebSocket(url.replace(/^http/, 'ws'), { headers, perMessageDeflate: false });
    const duplex = createWebSocketStream(this.socket);
    duplex.on('error', () => {});
    const server = createServer({ settings: { enableConnectProtocol: true } });
    server.on('session', (session) => {
      session.on('error', () => {});
      session.setLocalWindowSize(16 * 1024 * 1024);
    });
    server.on('stream', (stream: ServerHttp2Stream, asked) => {
      stream.on('error', () => {});
      this.requests.push(asked);
      this.#answer(stream, asked);
    });
    void asSocket(duplex).then((socket) => server.emit('connection', socket));
  }

  /** Sends a report now, to every relay that asked for them. */
  tell(change: Partial<Omit<RelayReport, 'seq'>> = {}): void {
    Object.assign(this.report, change);
    this.#seq += 1;
    for (const stream of this.#reporting) stream.write(`${JSON.stringify({ seq: this.#seq, ...this.report })}\n`);
  }

  async close(): Promise<void> {
    for (const socket of this.inside) socket.destroy();
    if (this.socket.readyState === this.socket.CLOSED) return;
    this.socket.terminate();
    await once(this.socket, 'close');
  }

  #answer(stream: ServerHttp2Stream, asked: IncomingHttpHeaders): void {
    if (asked[':method'] === 'CONNECT') return this.#connect(stream, asked);
    const path = String(asked[':path']);
    if (this.isEndless && path !== '/report') {
      stream.respond({ ':status': path === '/users' ? 200 : 503 });
      return void stream.write('{');
    }
    const blocks = path === '/noop' ? this.blocks : 0;
    for (let block = 0; block < blocks; block += 1) stream.additionalHeaders({ ':status': 103 });
    if (path === '/noop') return void (stream.respond({ ':status': this.isUsable ? 204 : 503 }), stream.end());
    stream.respond({ ':status': 200 });
    if (path === '/users') return void this.#provision(stream);
    if (path === '/report') {
      this.#reporting.push(stream);
      return this.tell();
    }
    // A terminal that says again what is typed, and ends at the letter q with code 7.
    stream.on('data', (chunk: Buffer) => {
      if (!chunk.includes('q')) {
        stream.write(chunk);
        return;
      }
      const last = Buffer.from(JSON.stringify({ exit_code: 7 }));
      stream.end(Buffer.concat([Buffer.of(1, 0, 0, 0, last.length), last]));
    });
  }

  async #provision(stream: ServerHttp2Stream): Promise<void> {
    const { users } = JSON.parse(await text(stream)) as { users: RelayUser[] };
    this.users.push(users);
    // One without a key is left out, as if the machine had refused it.
    const there = users.filter(({ ssh_public_key: key }) => key !== null).map(({ user_id: id }) => id);
    stream.end(JSON.stringify({ provisioned: there }));
  }

  #connect(stream: ServerHttp2Stream, asked: IncomingHttpHeaders): void {
    const port = Number(String(asked[':authority']).split(':')[1]);
    if (port === 22) {
      stream.respond({ ':status': 403 });
      stream.end(JSON.stringify({ message: 'this machine forwards no such port' }));
      return;
    }
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.inside.add(socket);
    socket.once('close', () => this.inside.delete(socket));
    socket.once('connect', () => {
      stream.respond({ ':status': 200 });
      stream.pipe(socket).pipe(stream);
    });
    socket.once('error', () => {
      if (!stream.headersSent) stream.respond({ ':status': 502 }, { endStream: true });
      else stream.close();
    });
    stream.once('close', () => socket.destroy());
  }
}

/** An environment that a machine was enrolled in. */
export interface Enrolled {
  id: string;
  deviceId: string;
}

/** Makes an environment and enrols a machine in it. */
export async function enrolled(gateway: TestGateway, account: TestAccount): Promise<Enrolled> {
  const id = await environmentOf(gateway, account);
  const { key } = account;
  const { body } = await http(gateway.url, `/v1/environments/${id}/enroll-token`, { method: 'POST', key });
  const deviceId = crypto.randomUUID();
  await http(gateway.url, '/v1/environments/enroll', {
    method: 'POST',
    body: { token: body.token, device_id: deviceId, daemon_version: '0.1.0', os: 'linux', arch: 'x64' },
  });
  return { id, deviceId };
}
