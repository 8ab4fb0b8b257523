import { NodeClient } from '@svc/sandboxd-api';
import { type BackupManifest, places } from './format.ts';
import type { BackupWriter } from './writer.ts';

/** The name of the node, by which the database knows where its sandboxes are. */
export const nodeIdName = `${places.sandboxes}node-id`;

/**
 * Adds what the node beside the platform keeps: paused sandboxes with memory, files and image, the files of those that run. One
 * that cannot be copied is left out and named.
 */
export async function addSandboxes(
  writer: BackupWriter,
  { socket, owner }: { socket: string; owner: string },
): Promise<BackupManifest['sandboxes']> {
  const found: BackupManifest['sandboxes'] = { kept: [], left: [] };
  const node = new NodeClient(socket);
  try {
    const about = await node.node().catch(() => undefined);
    if (!about) return { kept: [], left: [{ id: 'all', why: 'no node agent answers: start the platform for them' }] };
    await writer.bytes(nodeIdName, Buffer.from(`${about.id}\n`));
    const images = new Set<string>();
    for (const { id, backend, status, memory = false, image_digest: digest } of await own(node, owner)) {
      try {
        if (backend === 'v1') throw new Error('v1 sandboxes cannot be kept');
        await writer.pieces(`${places.sandboxes}${id}.tar`, (await node.copy(id)) as AsyncIterable<Buffer>);
        if (!images.has(digest)) {
          await writer.pieces(imageName(digest), (await node.copyImage(digest)) as AsyncIterable<Buffer>);
          images.add(digest);
        }
        found.kept.push({ id, status, memory });
      } catch (error) {
        // A disk that is full is no matter of one sandbox.
        if (writer.failed) throw error;
        found.left.push({ id, why: error instanceof Error ? error.message : String(error) });
      }
    }
    return found;
  } finally {
    node.close();
  }
}

const imageName = (digest: string): string => `${places.images}${digest.replace('sha256:', '')}.image`;

/** Of this platform, those that have not ended. */
async function own(node: NodeClient, owner: string) {
  return (await node.list()).filter((each) => each.owner === owner && each.status !== 'stopped');
}
