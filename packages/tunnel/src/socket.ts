import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

/**
 * A stream as a socket of the system. HTTP/2 of Node.js over anything else fails an assertion of its own, which ends the process,
 * when its session and the stream end at the same moment (`JSStreamSocket.doWrite`, seen in Node.js 26 with forty streams open).
 * The two ends meet in a folder that nobody else may enter, and the folder is gone when they have.
 */
export async function asSocket(stream: Duplex): Promise<Socket> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-relay-'));
  const server = createServer();
  try {
    const path = join(folder, 's');
    server.listen(path);
    await once(server, 'listening');
    const near = connect(path);
    const [[far]] = (await Promise.all([once(server, 'connection'), once(near, 'connect')])) as [[Socket], unknown];
    tie(far, stream);
    return near;
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whatever ends one ends the other. */
function tie(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => {});
    from.once('close', () => to.destroy());
    from.pipe(to);
  }
  if (other.destroyed) one.destroy();
}
