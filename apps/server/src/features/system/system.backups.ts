import type { Readable } from 'node:stream';
import { backupConfig, wordsOf } from '../../backup/place.ts';
import { installationOf } from '../../backup/database.sql.ts';
import { ownOf } from '../../backup/keeper.ts';
import { openStore, type Store } from '../../backup/store.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';

type Kept = Awaited<ReturnType<Store['list']>>[number];

/** Backups of this installation in the place that is set. Throws 503 with why where the place does not answer. */
interface OwnBackups {
  /** The newest first. */
  list(): Promise<Kept[]>;
  /** Undefined for one that is not there, or not any more. */
  open(name: string): Promise<Readable | undefined>;
}

/** Undefined without a place. */
export async function openOwnBackups(kernel: Kernel): Promise<OwnBackups | undefined> {
  const config = await backupConfig(kernel);
  const { place } = config.backup;
  if (place === undefined || config.databaseUrl !== undefined) return undefined;
  const installation = await installationOf(kernel.sql);
  const told = (error: unknown): ApiError => {
    const why = error instanceof CommandError ? error.message : `${place}: ${wordsOf(error)}`;
    return new ApiError('unavailable', `the place of backups does not answer: ${why}`);
  };
  const store = await openStore(place, config).catch((error: unknown) => {
    throw told(error);
  });
  const list = async (): Promise<Kept[]> => {
    const all = await store.list().catch((error: unknown) => {
      throw told(error);
    });
    return ownOf(all, installation, kernel.clock.now());
  };
  return {
    list,
    async open(name) {
      try {
        return await store.open(name);
      } catch (error) {
        // A newer one may have taken its room since it was listed.
        if ((await list()).some((one) => one.name === name)) throw told(error);
        return undefined;
      }
    },
  };
}
