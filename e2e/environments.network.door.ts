import { connect, createServer } from 'node:net';

/**
 * A door into a network namespace, as a program in it: who connects to the socket at a path, which is the same everywhere, comes
 * to a port of the loopback there. Its arguments are both.
 */
const [path, port] = process.argv.slice(2);
const server = createServer({ allowHalfOpen: true }, (near) => {
  const far = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on('error', () => to.destroy());
    from.once('close', () => to.destroy());
    from.pipe(to);
  }
});
server.listen(path, () => process.stdout.write('open\n'));
