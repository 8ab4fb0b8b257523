// A TCP server in one of two roles, by its argument: `source`, which sends a GiB to who writes `d` and says again what others
// write; or a port, to which it joins whoever connects, byte for byte.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

const gib = 1024 ** 3;
const chunk = Buffer.alloc(64 * 1024, 'x');
const [, , role = 'source'] = process.argv;

function send(socket: Socket): void {
  let left = gib;
  const write = (): void => {
    while (left > 0) {
      left -= chunk.length;
      if (!socket.write(chunk)) return void socket.once('drain', write);
    }
    socket.end();
  };
  write();
}

function serve(socket: Socket): void {
  socket.once('data', (first: Buffer) => {
    if (first[0] === 'd'.charCodeAt(0)) return send(socket);
    socket.write(first);
    socket.on('data', (more) => void socket.write(more));
  });
}

function joinTo(socket: Socket): void {
  const inside = connect(Number(role), '127.0.0.1').setNoDelay(true);
  inside.on('error', () => socket.destroy());
  socket.pipe(inside).pipe(socket);
}

const server = createServer((socket) => {
  socket.setNoDelay(true).on('error', () => {});
  if (role === 'source') serve(socket);
  else joinTo(socket);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`);
