import { z } from 'zod';
import { listDeleted, suspendListed } from '../features/accounts/index.ts';
import { listRevoked, revokeListed } from '../features/keys/index.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import type { Db } from '../kernel/db/db.ts';
import type { Store } from './store.ts';

/**
 * Keys that were revoked and accounts that were deleted, kept beside the backups: one from before would have them let in again.
 * The platform writes it within a minute of a change, a restore reads it. Nobody takes out what stands in it: a copy that was
 * restored from an older backup knows less than the one that wrote it.
 */
const shape = z.object({
  installation: z.string(),
  at: z.iso.datetime(),
  revoked: z.array(z.uuid()),
  deleted: z.array(z.uuid()).default([]),
});
type Revocations = z.output<typeof shape>;

const fileOf = (installation: string): string => `svc-${installation.slice(0, 12)}-revoked.json`;
const most = 100_000;

/** Adds to the list when the database has others than `before`; answers what it has as text, to compare the next time. */
export async function keepRevocations(db: Db, store: Store, installation: string, before?: string): Promise<string> {
  const [revoked, deleted] = [await listRevoked(db, most), await listDeleted(db, most)];
  const now = [...revoked, ...deleted].join();
  if (now === before) return now;
  const known = await readRevocations(store, installation);
  const list: Revocations = {
    installation,
    at: new Date().toISOString(),
    revoked: union(known?.revoked, revoked),
    deleted: union(known?.deleted, deleted),
  };
  await store.replace(fileOf(installation), JSON.stringify(list));
  return now;
}

/** Those of both; where they are too many those of the database, which a restore would bring back. */
const union = (known: readonly string[] = [], found: readonly string[]): string[] =>
  [...new Set([...found, ...known])].slice(0, most).sort();

/** The list of an installation; undefined when there is none beside the backup. Throws `CommandError` for one that is damaged. */
export async function readRevocations(store: Store, installation: string): Promise<Revocations | undefined> {
  const name = fileOf(installation);
  const text = await store.read(name);
  if (text === undefined) return undefined;
  try {
    const list = shape.parse(JSON.parse(text));
    return list.installation === installation ? list : undefined;
  } catch {
    throw new CommandError(`${store.nameOf(name)} lists revoked keys and is damaged: mend it, or move it away`);
  }
}

/**
 * Revokes the listed keys again, and suspends the accounts: whoever restores may want one back that was deleted by mistake.
 * Answers those that the backup had as valid.
 */
export const applyRevocations = async (db: Db, { revoked, deleted }: Revocations) => ({
  keys: await revokeListed(db, revoked),
  emails: await suspendListed(db, deleted),
});
