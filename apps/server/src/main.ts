import { resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { ConfigError, type Given, settingRows, unknownSettings } from './config.ts';
import { readConfig } from './config.read.ts';
import { addressOfRunning } from './running.ts';
import { refuseOnCommandLine, secretOfFlag } from './config.secrets.ts';
import { format, oneOf } from './kernel/commands.ts';
import { CommandError } from './kernel/base/command-error.ts';
import { redact } from './kernel/base/redact.ts';
import { printable } from './kernel/base/text.ts';
import { commitOf } from './kernel/base/commit.ts';
import { version } from './kernel/base/version.ts';
import { helpText } from './help.ts';
import { serviceCommands } from './service.commands.ts';
import { imagesCommand } from './images.ts';
import type { MigrateOptions } from './migrate.command.ts';
import { status, statusCode } from './status.ts';
import type { Part } from './up.ts';

/** Of a clone it names the commit, which is read only where somebody asks. */
function versionText(): string {
  const commit = process.argv.includes('--version') ? commitOf(resolve(import.meta.dirname, '../../..')) : undefined;
  return `svc ${version}${commit === undefined ? '' : ` (${commit})`}, Node.js ${process.versions.node}`;
}

const program = new Command('svc')
  .description("the platform side of a person's devices")
  .usage('<command> [options]')
  .version(versionText(), '--version', 'print the version and the commit')
  .helpOption('-h, --help', 'print this help; also svc <command> --help')
  .option('--json', 'print JSON')
  .helpCommand(false)
  .addHelpText('after', helpText)
  .exitOverride()
  .configureOutput({ outputError: () => {} });
const settings = settingRows().flatMap(({ flags, description }) => flags.map((each) => ({ ...each, description })));
// Seventy lines of them would bury the commands: `svc settings` lists them.
for (const { flag } of settings) program.addOption(new Option(`${flag} <value>`).hideHelp());

/** The settings of this command line; of a command beside a platform that runs, those of its address too. */
function config(running?: (dataDir: string) => Given) {
  const options: Record<string, string> = program.opts();
  const flags: Given = Object.fromEntries(settings.map(({ flag, gives }) => [gives, options[camelCase(flag)]]));
  const found = readConfig(flags, running);
  warnings.push(...found.warnings);
  return found.config;
}
/** Warnings that `up` prints before it starts. */
const warnings = unknownSettings().map((name) => `${name} is no setting of this version`);

const camelCase = (flag: string): string =>
  flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
const json = (): boolean => program.opts()['json'] === true;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader has seen enough, as after `| head`.
  if (error.code !== 'EPIPE') throw error;
});
function print(result: unknown): void {
  process.stdout.write(`${format(result, json())}\n`);
}

/** Of a command that the list has no line for: it names it beside another. */
const hidden = { hidden: true } as const;
program.commandsGroup('Run it:');
program
  .command('up')
  .description('run the platform in the foreground')
  .option(
    '--only <part>',
    'run one part: gateway, worker, relay or sandboxd',
    oneOf(['gateway', 'worker', 'relay', 'sandboxd']),
  )
  .option('--also', 'beside a platform that runs on the same data dir')
  .option('--no-system-packages', 'never install system packages')
  .action(async (options: { only?: Part; also?: boolean; systemPackages: boolean }) => {
    const { only = 'all', also = false, systemPackages } = options;
    // What is wrong with the settings is said before the whole platform is loaded.
    const given = config();
    const { up } = await import('./up.ts');
    await up(given, only, { systemPackages, also, warnings });
  });
program
  .command('migrate')
  .summary('bring the database to this version')
  .description('apply what this version needs to its database, while the version before may run')
  .option('--check', 'say what is missing; exit code 1 when something is')
  .option('--dry-run', 'print the SQL, and run it in a transaction that is rolled back')
  .action(async (options: MigrateOptions) => {
    const { migrateCommand, migratedText } = await import('./migrate.command.ts');
    const done = await migrateCommand(config(addressOfRunning), options, (what) => process.stderr.write(`${what}\n`));
    if (json()) print(done);
    else process.stdout.write(`${migratedText(done)}\n`);
    if (options.check && done.missing?.length) process.exitCode = 1;
  });
program
  .command('settings')
  .description('every setting, its default, what it means')
  .action(() => {
    const rows = settingRows().map(({ name, flags, default: value, description }) => ({
      name,
      flag: flags.map(({ flag }) => flag).join(' '),
      default: value,
      meaning: description,
    }));
    print(rows);
  });
program
  .command('status')
  .description('what runs (exit code 0 ready, 1 not, 3 nothing)')
  .action(async () => {
    const found = await status(config());
    const { running, data_dir, processes } = found;
    print(json() ? found : running ? processes : `nothing runs on ${data_dir}; start it with ./svc up`);
    process.exitCode = statusCode(found);
  });
serviceCommands(program, { config, print });
program
  .command('doctor')
  .description('what this machine lacks, and what to do')
  .action(async () => {
    const { doctor } = await import('./doctor.ts');
    const { createLog } = await import('./kernel/base/log.ts');
    const checks = await doctor(config(addressOfRunning), createLog('silent'));
    print(
      json()
        ? { ok: checks.every((check) => check.ok), checks }
        : checks.map(({ ok, ...check }) => ({ '': ok ? 'ok' : 'FAULT', ...check })),
    );
    if (checks.some((check) => !check.ok)) process.exitCode = 1;
  });
program
  .command('rotate-master-key')
  .summary('another master key')
  .description('put a new master key in place of the old')
  .option('--new-key-file <path>', 'file with the new key; default: one is made and put into the data dir')
  .option('--skip-broken', 'leave what cannot be opened as it is, and name it')
  .action(async ({ newKeyFile, skipBroken }: { newKeyFile?: string; skipBroken?: boolean }) => {
    const { rotateMasterKey } = await import('./master-key.ts');
    print(await rotateMasterKey(config(), newKeyFile, { skipBroken: skipBroken === true }));
  });
program.commandsGroup('Machines and sandboxes:');
elsewhere([
  ['host', 'be a host: host run | exec | list'],
  ['env', 'machines to develop on: env list | open'],
  ['session', 'shared sessions: list | show | tail | send'],
  ['prompt', 'a prompt for later: prompt add'],
]);
program
  .command('images [words...]')
  .summary('of sandboxes: list | build | fetch | import')
  .description('of sandboxes: images list | build | fetch | import')
  .helpOption(false)
  .allowUnknownOption()
  .action(async (words: string[]) => {
    process.exitCode = await imagesCommand(config(), words, json());
  });
program.commandsGroup('People and keys:');
elsewhere([
  ['login [url]', 'sign in at a platform; logout, whoami'],
  ['logout', 'revoke the key of svc login', hidden],
  ['whoami', 'who is signed in, and what the key may do', hidden],
]);

/** Commands of the program that runs on any machine, which `./svc` of a clone starts by itself. */
function elsewhere(
  commands: readonly (readonly [command: string, description: string, shown?: { hidden: true }])[],
): void {
  for (const [command, description, shown] of commands) {
    program
      .command(command, shown)
      .description(description)
      .allowUnknownOption()
      .action(() => {
        throw new CommandError(`this command is of the program for any machine: ./svc ${command}, in the clone`);
      });
  }
}

/** `--json` and the settings are accepted anywhere on the line, as in `svc keys list --json`. */
function shareOptions(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => {} });
  for (const child of command.commands) shareOptions(child);
}

/** Says what went wrong in one line and ends the process, whatever is still open. */
function fail(thrown: unknown): void {
  // An error of the clean-up says less than the first error.
  const error: unknown = thrown instanceof SuppressedError ? thrown.suppressed : thrown;
  if (error instanceof CommanderError && error.exitCode === 0) return;
  // A group without a command: its help was printed.
  if (error instanceof CommanderError && error.code === 'commander.help') process.exit(2);
  const expected = error instanceof CommandError || error instanceof ConfigError || error instanceof CommanderError;
  const said = error instanceof Error ? error.message : String(error);
  // commander puts what it guesses on a line of its own.
  const text = error instanceof CommanderError ? said.replace(/\s*\n\s*/g, ' ') : said;
  const message = printable(
    redact(expected ? text.replace(/^error: /, '') : `${text} (svc doctor checks the machine)`),
  );
  process.stderr.write(json() ? `${JSON.stringify({ error: { message } })}\n` : `svc: ${message}\n`);
  process.exit(error instanceof ConfigError || error instanceof CommanderError ? 2 : 1);
}

try {
  const { front, rest } = hoistGlobals(process.argv.slice(2));
  if (!hasWord(rest[0])) await addOthers();
  shareOptions(program);
  const words = [...front, ...rest];
  if (words.length === 0) program.outputHelp();
  else await program.parseAsync(words, { from: 'user' });
} catch (error) {
  fail(error);
}

/** Whether the program has all that its first word needs: the other commands take half a second of processor time to load. */
function hasWord(word: string | undefined): boolean {
  return word === '--version' || program.commands.some((each) => each.name() === word);
}

async function addOthers(): Promise<void> {
  const { addAdminCommands } = await import('./admin.commands.ts');
  addAdminCommands(program, { config, print, json });
  program
    .command('help [command]', hidden)
    .action((name?: string) => (program.commands.find((each) => each.name() === name) ?? program).outputHelp());
}

/** The program's own options, which may stand after the command too, and what else there is. */
function hoistGlobals(args: string[]): { front: string[]; rest: string[] } {
  const flags = new Set(settings.map(({ flag }) => flag));
  const front: string[] = [];
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    const name = arg.split('=')[0] as string;
    const secret = secretOfFlag(name);
    if (secret) refuseOnCommandLine(secret, '');
    const value = flags.has(arg) ? args[i + 1] : undefined;
    const hasValue = value !== undefined || (name !== arg && flags.has(name));
    // A flag whose value is missing stays where it is: in front of the command it would take that for its value.
    if (arg === '--json' || hasValue) front.push(arg);
    else rest.push(arg);
    if (value !== undefined) front.push(args[++i] as string);
  }
  return { front, rest };
}
