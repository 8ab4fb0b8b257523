import { statfs } from 'node:fs/promises';
import { NodeError } from '../error.ts';

/**
 * A snapshot leaves this free on the disk. The volume of the workspaces is a sparse file on it: a disk that is full when the
 * volume has to grow is an input error below every workspace.
 */
const leastBytes = 2 * 1024 ** 3;

/** Throws `sandbox_capacity` when the disk of `dir` has no room for a snapshot of about so many bytes. */
export async function needRoom(dir: string, bytes = 0): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  if (bavail * bsize >= leastBytes + bytes) return;
  throw new NodeError(
    'sandbox_capacity',
    'the disk of this node is nearly full: free some of it, or destroy sandboxes that are not needed',
    { retryAfterS: 60 },
  );
}
