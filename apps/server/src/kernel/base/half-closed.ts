import type { Server as HttpServer, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers whose work ends when their client leaves. */
const watched = new WeakSet<ServerResponse>();

/**
 * Answers a client that closed its half of the connection once it had sent its request: no more will come from it, but it
 * reads. A client that left looks the same, so what watches for that ends instead: streams, and work that costs.
 */
export function answerHalfClosed(server: HttpServer): void {
  (server as HttpServer & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  const latest = new WeakMap<Socket, ServerResponse>();
  server.on('request', ({ socket }, response: ServerResponse) => {
    const isKnown = latest.has(socket);
    latest.set(socket, response);
    if (isKnown) return;
    socket.once('end', () => {
      const answer = latest.get(socket);
      if (answer && (watched.has(answer) || (answer.headersSent && !answer.writableEnded))) socket.destroy();
    });
  });
}

/** From now on a client that closes its half has left. */
export function endWithClient(response: ServerResponse): void {
  watched.add(response);
  const socket: Socket | null = response.socket;
  if (socket?.readableEnded) socket.destroy();
}
