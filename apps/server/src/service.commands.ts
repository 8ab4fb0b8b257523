import { resolve } from 'node:path';
import type { Command } from 'commander';
import { settingsWords } from './backup/apart.ts';
import type { Config } from './config.ts';
import { showLogs } from './logs.ts';
import { findDataDir } from './postgres/datadir.ts';
import { findRunningProcesses } from './running.ts';
import { stop } from './stop.ts';
import { uninstall } from './uninstall.ts';
import type { UpgradeOptions } from './upgrade.ts';

/** What a person does to a platform that runs: `svc stop`, `logs`, `uninstall`. */
export function serviceCommands(
  program: Command,
  { config, print }: { config: () => Config; print: (result: unknown) => void },
): void {
  program
    .command('stop')
    .summary('end what runs, and wait for it')
    .description('have the platform of the data dir finish what it does, and wait until it has ended')
    .action(async () => print(await stop(config())));
  program
    .command('upgrade [release]')
    .summary('bring this clone to a newer release')
    .description(
      'fetch, back up, check out, install, migrate, restart what runs under a unit; by default the newest release',
    )
    .option('--check', 'only say what is newer', false)
    .option('--backup <file>', 'the backup that is made first; default: in SVC_BACKUP_DIR')
    .option('--without-backup', 'make none: the database is backed up by its own means, or is empty', false)
    .action(async (release: string | undefined, options: UpgradeOptions) => {
      const { secretFilesOf, upgrade } = await import('./upgrade.ts');
      const settings = config();
      print(
        await upgrade(
          { ...options, release },
          {
            root: resolve(import.meta.dirname, '../../..'),
            words: [...settingsWords(), ...secretFilesOf(process.argv.slice(2))],
            hasPlace: settings.backup.place !== undefined,
            running: findRunningProcesses(findDataDir(settings)),
            say: (line) => void process.stderr.write(`svc: ${line}\n`),
          },
        ),
      );
    });
  program
    .command('logs')
    .description('the log of the platform that runs')
    .option('-n, --lines <count>', 'how many lines', '100')
    .option('-f, --follow', 'go on as lines come', false)
    .option('--database', 'the log of the embedded Postgres', false)
    .action((wanted: { lines: string; follow: boolean; database: boolean }) => showLogs(config(), wanted));
  program
    .command('uninstall')
    .summary('tell what would go; --yes removes it')
    .description('take the platform off this machine; without --yes it only tells what goes')
    .option('--yes', 'do it', false)
    .option('--data', 'everything that it kept, too; make a backup first', false)
    .action(async (wanted: { yes: boolean; data: boolean }) => print(await uninstall(config(), wanted)));
}
