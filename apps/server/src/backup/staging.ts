import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '../kernel/base/command-error.ts';
import { openDataDir, syncFolder } from '../postgres/datadir.ts';
import { findRunning, removeCluster, stopPostgres } from '../postgres/embedded.ts';

/** A restore works in this folder of the data dir; nothing beside it is touched before all of it is there. */
const stagingName = 'restoring';
/** Its last file: from here on the restore is done, whatever dies. */
const doneName = 'complete';
/** Names that an empty data dir may have: of file systems, of a restore, and of the lock that it holds. */
const noContent = new Set(['lost+found', stagingName, 'restore.lock']);

/** What file systems, desktops and snapshots put into any folder by themselves. */
const foreign =
  /^(?:\.snapshots?|\.zfs|\.nfs[0-9a-f]+|\.fseventsd|\.Spotlight-V100|\.Trash(?:es|-\d+)?|\.TemporaryItems|\.DS_Store|\.localized|\._.*|\.directory|\.hidden|@eaDir|#recycle|#snapshot)$/;

const stagingOf = (dataDir: string): string => join(dataDir, stagingName);

/** Throws `CommandError` unless the data dir is empty, or holds a restore that was interrupted. */
export function requireEmpty(dataDir: string): void {
  const names = existsSync(dataDir) ? readdirSync(dataDir) : [];
  const others = names.filter((name) => !noContent.has(name) && !foreign.test(name));
  if (others.length === 0) return;
  throw new CommandError(
    `${dataDir} is not empty (${others.slice(0, 3).join(', ')}): name another with --data-dir, or move it away first`,
  );
}

/** Begins a restore anew: what an interrupted one left is removed. Answers the folder, a data dir of its own. */
export async function beginStaging(dataDir: string): Promise<string> {
  await dropStaging(dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  return openDataDir({ dataDir: stagingOf(dataDir), databaseUrl: undefined });
}

/** Removes what a restore that failed or was interrupted left, its database server too. */
export async function dropStaging(dataDir: string): Promise<void> {
  const staging = stagingOf(dataDir);
  if (unsettledRestore(dataDir) === undefined) return;
  const server = findRunning(staging);
  if (server) await stopPostgres(server);
  removeCluster(staging);
  rmSync(staging, { recursive: true, force: true });
}

/** Makes the restore the data dir, in one step for who looks: the mark, which `settleRestore` goes on from. */
export function completeStaging(dataDir: string): void {
  const staging = stagingOf(dataDir);
  writeFileSync(join(staging, doneName), '', { flush: true });
  syncFolder(staging);
  settleRestore(dataDir);
}

/** Whether a restore into the data dir did not come to its end, and whether it was done but for its last renames. */
export function unsettledRestore(dataDir: string): 'interrupted' | 'done' | undefined {
  const staging = stagingOf(dataDir);
  const found = lstatSync(staging, { throwIfNoEntry: false });
  if (!found) return undefined;
  // The platform's user may make names in the data dir: root follows none of them.
  if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid))
    throw new CommandError(`${staging} was not made by this user: look at what is in it, then remove it`);
  return existsSync(join(staging, doneName)) ? 'done' : 'interrupted';
}

/**
 * Finishes a restore that was done but for its last renames; throws `CommandError` for one that was not. For every start on a
 * data dir, and for the restore itself. Answers whether there was one.
 */
export function settleRestore(dataDir: string): boolean {
  const staging = stagingOf(dataDir);
  const found = unsettledRestore(dataDir);
  if (found === undefined) return false;
  if (found === 'interrupted') {
    throw new CommandError(
      `a restore into ${dataDir} was interrupted: run ./svc restore FILE again, or remove ${staging}`,
    );
  }
  // The mark is the last: killed here, the next one goes on.
  for (const name of readdirSync(staging)) if (name !== doneName) renameSync(join(staging, name), join(dataDir, name));
  syncFolder(dataDir);
  rmSync(staging, { recursive: true, force: true });
  return true;
}
