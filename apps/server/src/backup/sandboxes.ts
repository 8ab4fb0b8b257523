import { NodeClient, NodeFailure } from '@svc/sandboxd-api';
import { z } from 'zod';
import { type BackupManifest, places } from './format.ts';
import type { BackupWriter } from './writer.ts';

/** The name of the node, by which the database knows where its sandboxes are. */
export const nodeIdName = `${places.sandboxes}node-id`;

/** What a backup needs of a sandbox; ids and digests become names of its entries. */
const sandbox = z.object({
  id: z.uuid(),
  backend: z.enum(['v1', 'v2']),
  status: z.enum(['running', 'paused']),
  memory: z.boolean().default(false),
  image_digest: z.string().regex(/^sha256:[0-9a-f]{1,128}$/),
});
type Sandbox = z.output<typeof sandbox>;
type Found = BackupManifest['sandboxes'];

const silent = 'its node agent does not answer in time: restart the platform, then make another backup';
const strange = 'its node agent tells of it in a way that this version does not know';
/** Characters of a reason that an agent gave. */
const mostOfReason = 500;

/**
 * Adds what the node beside the platform keeps: paused sandboxes with memory, files and image, the files of those that run. One
 * that cannot be copied is left out and named, and all of them where sandboxes are expected and no agent tells of any.
 */
export async function addSandboxes(
  writer: BackupWriter,
  { socket, owner, isExpected }: { socket: string; owner: string; isExpected: boolean },
): Promise<Found> {
  const found: Found = { kept: [], left: [] };
  const node = new NodeClient(socket);
  try {
    const seen = await look(node, owner);
    if (!seen) {
      const why = 'no node agent answers: sandboxes are copied while the platform runs';
      if (isExpected) found.left.push({ id: 'all', why });
      return found;
    }
    await writer.bytes(nodeIdName, Buffer.from(`${seen.id}\n`));
    await copyAll(writer, node, seen.rows, found);
    return found;
  } finally {
    node.close();
  }
}

async function copyAll(writer: BackupWriter, node: NodeClient, rows: readonly unknown[], found: Found): Promise<void> {
  const images = new Set<string>();
  let isSilent = false;
  for (const row of rows) {
    const { data: one } = sandbox.safeParse(row);
    if (!one) found.left.push({ id: idOf(row), why: strange });
    // An agent that hangs is waited for once, for 180 s.
    else if (isSilent) found.left.push({ id: one.id, why: silent });
    else {
      try {
        await copy(writer, node, one, images);
        found.kept.push({ id: one.id, status: one.status, memory: one.memory });
      } catch (error) {
        // A disk that is full is no matter of one sandbox.
        if (writer.failed) throw error;
        isSilent = error instanceof NodeFailure && error.isLate;
        if (!hasEnded(error)) found.left.push({ id: one.id, why: isSilent ? silent : reasonOf(error) });
      }
    }
  }
}

async function copy(
  writer: BackupWriter,
  node: NodeClient,
  { id, backend, image_digest: digest }: Sandbox,
  images: Set<string>,
): Promise<void> {
  if (backend === 'v1') throw new Error('v1 sandboxes cannot be kept');
  await writer.pieces(`${places.sandboxes}${id}.tar`, (await node.copy(id)) as AsyncIterable<Buffer>);
  if (images.has(digest)) return;
  await writer.pieces(imageName(digest), (await node.copyImage(digest)) as AsyncIterable<Buffer>);
  images.add(digest);
}

const imageName = (digest: string): string => `${places.images}${digest.replace('sha256:', '')}.image`;
const hasEnded = (error: unknown): boolean => error instanceof NodeFailure && error.code === 'no_sandbox';

/** In words for the operator: an agent older than this command knows no copies. */
function reasonOf(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  if (error instanceof NodeFailure && error.code === 'not_found' && said === 'no such route')
    return 'its node agent is of an older version: restart the platform, then make another backup';
  return said.slice(0, mostOfReason) || 'its node agent gives no reason';
}

function idOf(row: unknown): string {
  const { id } = (row ?? {}) as { id?: unknown };
  return typeof id === 'string' ? id.slice(0, 40) : 'without an id';
}

/** The agent has 3 s for each answer, and this process, which has the least share of a full machine, to hear it. */
const mostLooks = 5;

/** The node and our sandboxes on it that have not ended; undefined: no agent tells of them. */
async function look(node: NodeClient, owner: string): Promise<{ id: string; rows: unknown[] } | undefined> {
  for (let looks = 1; ; looks++) {
    try {
      const [about, list] = await Promise.all([node.node(), node.list()]);
      const { id } = z.object({ id: z.uuid() }).parse(about);
      const rows = z.array(z.looseObject({ owner: z.string(), status: z.string() })).parse(list);
      return { id, rows: rows.filter((row) => row.owner === owner && row.status !== 'stopped') };
    } catch (error) {
      const isLate = error instanceof NodeFailure && error.isLate;
      if (!isLate || looks === mostLooks) return undefined;
    }
  }
}
