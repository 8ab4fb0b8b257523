import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** An answer as it came; `body` holds one character a byte. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** The text of an HTTP request to a server on 127.0.0.1. */
export function requestText(method: string, path: string, headers: Record<string, string>, body = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  if (body !== '') lines.push(`content-type: application/json\r\ncontent-length: ${body.length}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n${body}`;
}

/**
 * A keep-alive connection that carries one request at a time. Reads what our servers write and no more of HTTP, so that
 * a measurement is not one of the client.
 */
export class Connection {
  readonly #socket: Socket;
  #received = '';
  #waiting: PromiseWithResolvers<Answer> | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (text) => this.#take(String(text)));
    socket.on('error', () => {});
    socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')));
  }

  static async open(port: number): Promise<Connection> {
    return new Connection(await connected(port));
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  exchange(request: string): Promise<Answer> {
    if (this.isClosed) return Promise.reject(new Error('the connection is closed'));
    this.#waiting = Promise.withResolvers<Answer>();
    this.#socket.write(request, 'latin1');
    return this.#waiting.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#received = this.#received === '' ? text : this.#received + text;
    const head = this.#received.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#received.slice(0, head + 2))?.[1] ?? 0);
    const end = head + 4 + length;
    if (this.#received.length < end) return;
    const answer = { status: Number(this.#received.slice(9, 12)), body: this.#received.slice(head + 4, end) };
    this.#received = this.#received.slice(end);
    this.#waiting?.resolve(answer);
  }
}

/** Connections that are opened when none is free. */
export class Pool {
  readonly #port: number;
  readonly #free: Connection[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  async exchange(request: string): Promise<Answer> {
    // The server closes what is idle for a minute.
    let connection = this.#free.pop();
    while (connection?.isClosed) connection = this.#free.pop();
    connection ??= await Connection.open(this.#port);
    const answer = await connection.exchange(request);
    this.#free.push(connection);
    return answer;
  }

  close(): void {
    for (const connection of this.#free.splice(0)) connection.close();
  }
}

/** An open SSE response. */
export interface Events {
  close(): void;
}

/** Opens an SSE stream; resolves with its first frame. `onEvent` gets every frame with its data as JSON text. */
export async function openEvents(
  port: number,
  request: string,
  onEvent: (event: string, data: string) => void = () => {},
): Promise<Events> {
  const socket = (await connected(port)).setNoDelay(true).setEncoding('latin1');
  const first = Promise.withResolvers<void>();
  let rest = '';
  let event = '';
  socket.on('data', (text) => {
    const lines = (rest + String(text)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('HTTP/1.1 ') && !line.startsWith('HTTP/1.1 200')) first.reject(new Error(line.trim()));
      else if (line.startsWith('event: ')) event = line.slice(7);
      else if (line.startsWith('data: ')) {
        first.resolve();
        onEvent(event, line.slice(6));
      }
    }
  });
  socket.on('error', () => {});
  socket.on('close', () => first.reject(new Error('the server closed the stream')));
  socket.write(request, 'latin1');
  await first.promise;
  return { close: () => void socket.destroy() };
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}
