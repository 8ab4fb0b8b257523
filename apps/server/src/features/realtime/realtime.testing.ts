import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

export const usage = {
  total_tokens: 30,
  input_tokens: 20,
  output_tokens: 10,
  input_token_details: { text_tokens: 4, audio_tokens: 16, cached_tokens: 0 },
  output_token_details: { text_tokens: 2, audio_tokens: 8 },
};

/** A provider of realtime: says hello, answers `response.create`, and echoes what it does not know. */
export class TestRealtime implements AsyncDisposable {
  readonly requests: IncomingMessage[] = [];
  readonly heard: Record<string, unknown>[] = [];
  readonly sockets = new Set<WebSocket>();
  /** Refuses to open with this status. */
  refuses: number | undefined;
  /** A handshake waits for this. */
  holds: Promise<void> | undefined;
  readonly #server = createServer();
  readonly #sockets = new WebSocketServer({ noServer: true });

  async listen(): Promise<this> {
    this.#server.on('upgrade', (request, socket, head) => {
      this.requests.push(request);
      socket.on('error', () => {});
      if (this.refuses !== undefined) {
        socket.end(`HTTP/1.1 ${this.refuses} No\r\ncontent-length: 0\r\n\r\n`);
        return;
      }
      const accept = (): void => this.#sockets.handleUpgrade(request, socket, head, (opened) => this.#talk(opened));
      if (this.holds) void this.holds.then(accept);
      else accept();
    });
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  #talk(socket: WebSocket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    const say = (event: object): void => socket.send(JSON.stringify(event));
    say({ type: 'session.created', session: { type: 'realtime' } });
    socket.on('message', (data: Buffer) => {
      const event = JSON.parse(data.toString()) as { type: string };
      this.heard.push(event);
      if (event.type !== 'response.create') return say({ ...event, type: `echo.${event.type}` });
      say({ type: 'response.created', response: { id: 'resp_1' } });
      say({ type: 'response.output_audio_transcript.delta', delta: 'Bună ziua' });
      say({ type: 'response.output_audio.delta', delta: Buffer.alloc(30_000).toString('base64') });
      say({ type: 'response.done', response: { id: 'resp_1', usage } });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
