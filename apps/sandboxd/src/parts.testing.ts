import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { connectShim, type ShimClient } from './wire/client.ts';
import { createDecoder, type Frame } from './wire/frames.ts';

/** An empty directory (real path) that goes when the test ends. */
export async function temporaryDirectory(test: TestContext): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'svc-sandboxd-')));
  test.after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** Everything of a stream, as text. */
export async function textOf(stream: Readable): Promise<string> {
  return (await buffer(stream)).toString();
}

/** Why a test cannot run here; false where it can. Root is what most of a node agent is about. */
export const needsRoot: string | false =
  process.platform === 'linux' && process.getuid?.() === 0 ? false : 'needs root on Linux';

/** A connection to a shim whose agent is the test: `hear` gets every frame, and answers by writing to the socket. */
export async function fakeShim(test: TestContext, hear: (frame: Frame, shim: Socket) => void): Promise<ShimClient> {
  const path = join(await temporaryDirectory(test), 'shim.sock');
  const server = createServer((socket) => {
    const decode = createDecoder((frame) => hear(frame, socket));
    socket.on('data', decode).on('error', () => {});
  });
  server.listen(path);
  await once(server, 'listening');
  const client = await connectShim(path);
  test.after(() => {
    client.close();
    server.close();
  });
  return client;
}
