import { backupConfig } from '../../backup/place.ts';
import { installationOf } from '../../backup/database.sql.ts';
import { ownOf } from '../../backup/keeper.ts';
import { openStore, type Store } from '../../backup/store.ts';
import type { Kernel } from '../../kernel/kernel.ts';

/** Backups of this installation in the place that is set, the newest first; undefined without a place. */
export async function openOwnBackups(
  kernel: Kernel,
): Promise<{ store: Store; list: () => ReturnType<Store['list']> } | undefined> {
  const config = await backupConfig(kernel);
  const { place } = config.backup;
  if (place === undefined || config.databaseUrl !== undefined) return undefined;
  const store = await openStore(place, config);
  const installation = await installationOf(kernel.sql);
  return { store, list: async () => ownOf(await store.list(), installation, kernel.clock.now()) };
}
