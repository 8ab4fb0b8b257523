// Bare node:http: holds every request open as an SSE response, with a ping to each every 15 s.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const open = new Set<ServerResponse>();
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write('event: ready\ndata: {}\n\n');
  open.add(response);
  response.once('close', () => open.delete(response));
});
setInterval(() => {
  for (const response of open) response.write(': ping\n\n');
}, 15_000);
server.listen(0, '127.0.0.1', () => process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`));
