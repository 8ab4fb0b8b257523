import type { Command } from 'commander';
import { backupCommand } from './backup/commands.ts';
import { addressOfRunning } from './running.ts';
import type { Config, Given } from './config.ts';
import { accountDeletion, manifests, orgRemoval } from './features.ts';
import { deletionCommands } from './features/accounts/index.ts';
import { orgRemovalCommands } from './features/orgs/index.ts';
import type { Run } from './kernel/commands.ts';
import { acceptStore } from './kernel/outside/blobs.marker.ts';
import { createLog } from './kernel/base/log.ts';
import { findDataDir } from './postgres/datadir.ts';
import { providersCommand } from './providers.commands.ts';
import { openAdmin } from './resources.ts';
import { becomePlatform } from './root/user.ts';

/** What the program lends them. */
interface Lent {
  config: (running?: (dataDir: string) => Given) => Config;
  print: (result: unknown) => void;
  json: () => boolean;
}

/** Adds the commands that take much of the platform to load: backups, providers, and those of the features. */
export function addAdminCommands(program: Command, { config, print, json }: Lent): void {
  const run: Run =
    (work) =>
    async (...args) => {
      const settings = config(addressOfRunning);
      becomePlatform(findDataDir(settings), process.argv.slice(3));
      const admin = await openAdmin(settings, createLog('error'));
      try {
        print(await work(admin.value, ...args));
      } finally {
        await admin.close();
      }
    };
  program.commandsGroup('Run it:');
  backupCommand(program, { config: (kept) => config(() => kept ?? {}), print, run });
  providersCommand(program, { config, print, json });
  program
    .command('storage')
    .description('where files are stored: accept')
    .command('accept')
    .description('take the store of this data dir or bucket as the one of the database, whatever that knew')
    .action(
      run(async (admin) => {
        await acceptStore(admin);
        return 'accepted; start every part with this store';
      }),
    );
  program.commandsGroup('People and keys:');
  for (const { commands } of manifests) commands?.(program, run);
  deletionCommands(accountDeletion)(program, run);
  orgRemovalCommands(orgRemoval)(program, run);
}
