import { createHash, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { RawRoute } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';

/** The Node.js of the gateway, for machines whose distribution has none that is new enough. */
export interface BootNode {
  /** The machines that can run it, as `uname -m` names them. */
  machine: string;
  path: string;
  /** In hex. */
  sha256: string;
}

/** The pinned Node.js that runs this process: one file. */
const file = process.execPath;
const machines: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };
const prefix = '/install/node/';

/** A name that only machines of this installation know: the file has 150 MB, and nobody else is to fetch it all day. */
const nameOf = ({ keyring }: Pick<Kernel, 'keyring'>): string => keyring.mac('machine-node', 'path').toString('hex');

/** Answers a function that reads the SHA-256 of a file when it is first asked for it, and once. */
function summedOnce(path: string): () => Promise<string> {
  let summed: Promise<string> | undefined;
  const read = async (): Promise<string> => {
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash);
    return hash.digest('hex');
  };
  return () =>
    (summed ??= read().catch((error: unknown) => {
      summed = undefined;
      throw error;
    }));
}
const sumOf = summedOnce(file);

/** What a first boot needs to fetch it. */
export async function bootNode(keyring: Kernel['keyring']): Promise<BootNode> {
  const machine = process.platform === 'linux' ? (machines[process.arch] ?? '') : '';
  return { machine, path: prefix + nameOf({ keyring }), sha256: await sumOf() };
}

/** Serves it. */
export const nodeRoute: RawRoute = {
  prefix,
  async open({ request, response, rest, kernel }) {
    const [given, own] = [rest, nameOf(kernel)].map((name) => createHash('sha256').update(name).digest());
    if (!given || !own || !timingSafeEqual(given, own) || request.method !== 'GET') {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('there is nothing here\n');
      return;
    }
    const { size } = await stat(file);
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size });
    // A client that leaves is no failure.
    await pipeline(createReadStream(file), response).catch(() => response.destroy());
  },
};
