import { NodeClient, NodeFailure } from '@svc/sandboxd-api';
import { type BackupManifest, places } from './format.ts';
import type { BackupWriter } from './writer.ts';

/** The name of the node, by which the database knows where its sandboxes are. */
export const nodeIdName = `${places.sandboxes}node-id`;

/**
 * Adds what the node beside the platform keeps: paused sandboxes with memory, files and image, the files of those that run. One
 * that cannot be copied is left out and named, with all of them where an agent is expected that does not answer.
 */
export async function addSandboxes(
  writer: BackupWriter,
  { socket, owner, isExpected }: { socket: string; owner: string; isExpected: boolean },
): Promise<BackupManifest['sandboxes']> {
  const found: BackupManifest['sandboxes'] = { kept: [], left: [] };
  const node = new NodeClient(socket);
  try {
    const seen = await look(node, owner);
    if (!seen) {
      if (isExpected) found.left.push({ id: 'all', why: 'no node agent answers: start the platform for them' });
      return found;
    }
    const [{ id: nodeId }, sandboxes] = seen;
    await writer.bytes(nodeIdName, Buffer.from(`${nodeId}\n`));
    const images = new Set<string>();
    for (const { id, backend, status, memory = false, image_digest: digest } of sandboxes) {
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
        if (!hasEnded(error)) found.left.push({ id, why: reasonOf(error) });
      }
    }
    return found;
  } finally {
    node.close();
  }
}

const hasEnded = (error: unknown): boolean => error instanceof NodeFailure && error.code === 'no_sandbox';

/** In words for the operator: an agent older than this command knows no copies. */
function reasonOf(error: unknown): string {
  if (error instanceof NodeFailure && error.code === 'not_found')
    return 'its node agent is of an older version: restart the platform, then make another backup';
  return error instanceof Error ? error.message : String(error);
}

const imageName = (digest: string): string => `${places.images}${digest.replace('sha256:', '')}.image`;

/** The agent has 3 s for each answer, and this process, which has the least share of a full machine, to hear it. */
const mostLooks = 5;

/** The node and our sandboxes on it; undefined: it does not answer. */
async function look(node: NodeClient, owner: string) {
  for (let looks = 1; ; looks++) {
    try {
      return await Promise.all([node.node(), own(node, owner)]);
    } catch (error) {
      const isLate = error instanceof NodeFailure && error.isLate;
      if (!isLate || looks === mostLooks) return undefined;
    }
  }
}

/** Of this platform, those that have not ended. */
async function own(node: NodeClient, owner: string) {
  return (await node.list()).filter((each) => each.owner === owner && each.status !== 'stopped');
}
