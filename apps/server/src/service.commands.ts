import type { Command } from 'commander';
import type { Config } from './config.ts';
import { showLogs } from './logs.ts';
import { stop } from './stop.ts';
import { uninstall } from './uninstall.ts';

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
