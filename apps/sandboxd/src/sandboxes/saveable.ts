import { NodeError } from '../error.ts';
import { inTime, type Live } from './instances.ts';

const askMs = 10_000;

/** The error for a sandbox that goes on, since its memory cannot be saved. */
export const notSaved = (why: string, cause?: unknown): NodeError =>
  new NodeError('memory_not_saved', `memory and processes cannot be saved: ${why}`, { cause });

/** A pause that is refused for what a look shows interrupts no call that waits inside, and ends no connection. */
export async function look(live: Live): Promise<void> {
  needNoneDeleted((await inTime(live.client.ask({ kind: 'look' }), askMs)).deleted ?? []);
}

/** With such files gVisor would write a snapshot that cannot be read. */
export function needNoneDeleted(deleted: readonly unknown[]): void {
  if (deleted.length === 0) return;
  throw notSaved(
    `files are in use that were deleted or replaced: ${deleted.join(', ')}; close them or end these processes`,
  );
}
