import { z } from 'zod';
import { listRevoked, revokeListed } from '../features/keys/index.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import type { Db } from '../kernel/db/db.ts';
import type { Store } from './store.ts';

/**
 * Keys that were revoked, kept beside the backups: one from before would have them valid again. The platform writes it within a
 * minute of a change, a restore reads it.
 */
const shape = z.object({ installation: z.string(), at: z.iso.datetime(), revoked: z.array(z.uuid()) });
type Revocations = z.output<typeof shape>;

const fileOf = (installation: string): string => `svc-${installation.slice(0, 12)}-revoked.json`;
const most = 100_000;

/** Writes the list when it is another than `before`; answers the ids as text, to compare the next time. */
export async function keepRevocations(db: Db, store: Store, installation: string, before?: string): Promise<string> {
  const revoked = await listRevoked(db, most);
  const now = revoked.join();
  if (now === before) return now;
  const list: Revocations = { installation, at: new Date().toISOString(), revoked };
  await store.replace(fileOf(installation), JSON.stringify(list));
  return now;
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

/** Revokes the listed keys again; answers those that the backup had as valid. */
export const applyRevocations = (db: Db, { revoked }: Revocations) => revokeListed(db, revoked);
