import { createHash } from 'node:crypto';
import { z } from 'zod';
import { listDeleted, suspendListed } from '../features/accounts/index.ts';
import { listRevoked, revokeListed } from '../features/keys/index.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import type { Db } from '../kernel/db/db.ts';
import type { Instant } from '../kernel/db/instant.ts';
import type { Store } from './store.ts';

/** An account that was deleted: SHA-256 of its id. */
const removal = z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/), at: z.iso.datetime() });
/** The same as the release before wrote it, which reads the list too: the id. */
const deletion = z.object({ id: z.uuid(), at: z.iso.datetime() });

/**
 * Keys that were revoked and accounts that were deleted, kept beside the backups: one from before would have them let in again.
 * The platform writes it within a minute of a change, a restore reads it. Nobody takes out what stands in it: a copy that was
 * restored from an older backup knows less than the one that wrote it.
 */
const shape = z.object({
  installation: z.string(),
  at: z.iso.datetime(),
  revoked: z.array(z.uuid()),
  /** With when: an account that somebody took back by a restore was deleted before the backups of after that. */
  removed: z.array(removal).default([]),
  deleted: z.array(deletion).default([]),
});
type Revocations = z.output<typeof shape>;

const fileOf = (installation: string): string => `svc-${installation.slice(0, 12)}-revoked.json`;
const most = 100_000;

/** Adds to the list when the database has others than `before`; answers what it has as text, to compare the next time. */
export async function keepRevocations(db: Db, store: Store, installation: string, before?: string): Promise<string> {
  const [revoked, deleted] = [await listRevoked(db, most), await listDeleted(db, most)];
  const now = [...revoked, ...deleted.map(({ hash, at }) => `${hash} ${at}`)].join();
  if (now === before) return now;
  const known = await readRevocations(store, installation);
  const list: Revocations = {
    installation,
    at: new Date().toISOString(),
    revoked: union(known?.revoked, revoked, (id) => id),
    removed: union(known?.removed, deleted, ({ hash }) => hash),
    deleted: known?.deleted ?? [],
  };
  await store.replace(fileOf(installation), JSON.stringify(list));
  return now;
}

/** Those of both; where they are too many those of the database, which a restore would bring back. */
function union<T>(known: readonly T[] = [], found: readonly T[], idOf: (one: T) => string): T[] {
  const all = new Map([...known, ...found].map((one) => [idOf(one), one]));
  const kept = [...found, ...known].map(idOf).slice(0, most);
  return [...new Set(kept)].sort().flatMap((id) => all.get(id) ?? []);
}

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
 * Revokes the listed keys again, and suspends the accounts that were deleted after the backup: whoever restores may want one
 * back that was deleted by mistake. Answers those that the backup had as valid.
 */
export async function applyRevocations(db: Db, { revoked, removed, deleted }: Revocations, backedUpAt: Instant) {
  const all = [...removed, ...deleted.map(({ id, at }) => ({ hash: hashOf(id), at }))];
  const since = all.filter(({ at }) => Date.parse(at) > backedUpAt.ms).map(({ hash }) => hash);
  return { keys: await revokeListed(db, revoked), emails: await suspendListed(db, since) };
}

const hashOf = (id: string): string => createHash('sha256').update(id.toLowerCase()).digest('hex');
