import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Config, Given } from '../config.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import type { Run } from '../kernel/commands.ts';
import { confirmRestore } from './confirm.ts';
import { endWithStarter, runApart } from './apart.ts';
import { createBackup, summaryOf, toStdout, writeToStdout } from './create.ts';
import type { BackupSummary } from './format.ts';
import { verifyBackup } from './reader.ts';
import { restoreBackup } from './restore.ts';
import { openFile, openStore, type Store } from './store.ts';

interface Parts {
  /** The settings of this command, above those that a file had. */
  config: (kept?: Given) => Config;
  print: (result: unknown) => void;
  run: Run;
}

/** `svc backup create | list | verify` and `svc restore`. */
export function backupCommand(program: Command, { config, print, run }: Parts): void {
  const backup = program.command('backup').description('everything in one file: create, list, verify');
  backup
    .command('create [file]')
    .description('write a backup while the platform runs, and read it to its end; - is standard output')
    .option('--to <place>', 'a folder or s3://bucket/prefix, where it gets a name of its own')
    .addOption(new Option('--apart').hideHelp())
    .action(async (file: string | undefined, { to, apart = false }: { to?: string; apart?: boolean }) => {
      const settings = config();
      if (apart) endWithStarter();
      if (file === toStdout) return writeToStdout(settings);
      const { store, name } = await targetOf(settings, file, to);
      if (!apart) {
        const place = file === undefined ? ['--to', to ?? settings.backup.place ?? ''] : [file];
        process.stderr.write('svc: making a backup, and reading it to its end …\n');
        const command = ['--json', 'backup', 'create', '--apart', ...place];
        return print(JSON.parse(await runApart(settings, command, (line) => void process.stderr.write(line))));
      }
      print(await createBackup(settings, store, name));
    });
  backup
    .command('list')
    .description('the backups of a place, the newest first')
    .option('--in <place>', 'a folder or s3://bucket/prefix; default: SVC_BACKUP_DIR')
    .action(async ({ in: given }: { in?: string }) => {
      const settings = config();
      const store = await openStore(given ?? settings.backup.place ?? nowhere(), settings);
      print(
        (await store.list()).map(({ name, bytes, at }) => ({
          file: store.nameOf(name),
          bytes,
          made: at.toISOString(),
        })),
      );
    });
  backup
    .command('verify <file>')
    .description('read a backup to its end and compare all of it with its hashes; writes nothing')
    .action(async (file: string) => print(await verifyFile(config(), file)));
  const restore = program
    .command('restore')
    .summary('a backup into an empty data dir')
    .description('put a backup into an empty data dir; then: restore confirm')
    .argument('<file>', 'a backup; all of it is verified before anything is written')
    .action(async (file: string) => {
      const { store, name } = await openBackup(config(), file);
      print(await restoreBackup(config, store, name));
    });
  restore
    .command('confirm')
    .description('what the restore holds: pushes, mails and webhooks that may have gone out since the backup')
    .option('--send', 'send them now')
    .option('--drop', 'drop them')
    .action(
      run((admin, { send = false, drop = false }: { send?: boolean; drop?: boolean }) => {
        if (send && drop) throw new CommandError('give --send or --drop, not both');
        return confirmRestore(admin, send ? 'send' : drop ? 'drop' : undefined);
      }),
    );
}

async function targetOf(config: Config, file?: string, to?: string): Promise<{ store: Store; name?: string }> {
  if (file !== undefined && to !== undefined) throw new CommandError('name a file, or a place with --to, not both');
  if (file !== undefined && !file.startsWith('s3://')) {
    // Not made: a disk that is not mounted would be missed on the day the backup is needed.
    const folder = dirname(resolve(file));
    if (!existsSync(folder)) throw new CommandError(`there is no folder ${folder}`);
    return openFile(file);
  }
  const place = file ?? to ?? config.backup.place ?? nowhere();
  return { store: await openStore(place, config) };
}

function nowhere(): never {
  throw new CommandError('say where: name a file or --to <place>, or set SVC_BACKUP_DIR');
}

/** A file, or `s3://bucket/prefix/name`. */
async function openBackup(config: Config, file: string): Promise<{ store: Store; name: string }> {
  if (!file.startsWith('s3://')) return openFile(file);
  const at = file.lastIndexOf('/');
  return { store: await openStore(file.slice(0, at), config), name: file.slice(at + 1) };
}

async function verifyFile(config: Config, file: string): Promise<BackupSummary> {
  const { store, name } = await openBackup(config, file);
  return summaryOf(store.nameOf(name), await verifyBackup(await store.open(name), config.backup.passphrase));
}
