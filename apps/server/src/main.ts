import { Command, CommanderError } from 'commander';
import { ConfigError, loadConfig, type SettingName, settingFlags } from './config.ts';
import { doctor } from './doctor.ts';
import { accountsCommands } from './features/accounts/index.ts';
import { keysCommands } from './features/keys/index.ts';
import { orgsCommands } from './features/orgs/index.ts';
import { walletCommands } from './features/wallet/index.ts';
import { CommandError, format, oneOf, type Run } from './kernel/commands.ts';
import { createLog, redact } from './kernel/log.ts';
import { openAdmin } from './resources.ts';
import { imagesCommand } from './sandboxd.ts';
import { type Part, up } from './up.ts';

const program = new Command('svc')
  .description("the platform side of a person's devices")
  .option('--json', 'print JSON')
  .option('--no-system-packages', 'never install system packages')
  .exitOverride()
  .configureOutput({ outputError: () => {} });
for (const { flag, name, description } of settingFlags()) program.option(`${flag} <value>`, `${description} (${name})`);

/** Flags win over the environment. */
function config() {
  const options: Record<string, string> = program.opts();
  const flags = settingFlags().map(({ name, flag }) => [name, options[camelCase(flag)]]);
  return loadConfig(Object.fromEntries(flags) as Partial<Record<SettingName, string>>);
}

const camelCase = (flag: string): string =>
  flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
const json = (): boolean => program.opts()['json'] === true;
const print = (result: unknown): void => void process.stdout.write(`${format(result, json())}\n`);

const run: Run =
  (work) =>
  async (...args) => {
    const settings = config();
    const admin = await openAdmin(settings, createLog('error'));
    try {
      print(await work(admin.value, ...args));
    } finally {
      await admin.close();
    }
  };

program
  .command('up')
  .description('run the platform in the foreground')
  .option('--only <part>', 'run one part: gateway, worker or sandboxd', oneOf(['gateway', 'worker', 'sandboxd']))
  .action((options: { only?: Part }) =>
    up(config(), options.only ?? 'all', { systemPackages: program.opts()['systemPackages'] !== false }),
  );
program
  .command('doctor')
  .description('check the machine and say what to do about each fault')
  .action(async () => {
    const checks = await doctor(config(), createLog('silent'));
    print(
      json()
        ? { ok: checks.every((check) => check.ok), checks }
        : checks.map(({ ok, ...check }) => ({ '': ok ? 'ok' : 'FAULT', ...check })),
    );
    if (checks.some((check) => !check.ok)) process.exitCode = 1;
  });
program
  .command('host')
  .description('the host daemon: svc host run | exec | list')
  .allowUnknownOption()
  .action(() => {
    throw new CommandError('the host daemon is started by ./svc host, in the clone');
  });
program
  .command('images [words...]')
  .description('root file systems of sandboxes: images list | build <template> | prune')
  .allowUnknownOption()
  .action(async (words: string[]) => {
    process.exitCode = await imagesCommand(config(), words, json());
  });
accountsCommands(program, run);
keysCommands(program, run);
orgsCommands(program, run);
walletCommands(program, run);

/** `--json` and the settings are accepted anywhere on the line, as in `svc keys list --json`. */
function shareOptions(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => {} });
  for (const child of command.commands) shareOptions(child);
}
shareOptions(program);

/** Says what went wrong in one line and ends the process, whatever is still open. */
function fail(thrown: unknown): void {
  // What failed while it was cleaned up says less than what failed first.
  const error: unknown = thrown instanceof SuppressedError ? thrown.suppressed : thrown;
  if (error instanceof CommanderError && error.exitCode === 0) return;
  const expected = error instanceof CommandError || error instanceof ConfigError || error instanceof CommanderError;
  const text = error instanceof Error ? error.message : String(error);
  const message = redact(expected ? text.replace(/^error: /, '') : `${text} (svc doctor checks the machine)`);
  process.stderr.write(json() ? `${JSON.stringify({ error: { message } })}\n` : `svc: ${message}\n`);
  process.exit(error instanceof ConfigError || error instanceof CommanderError ? 2 : 1);
}

try {
  await program.parseAsync(hoistGlobals(process.argv.slice(2)), { from: 'user' });
} catch (error) {
  fail(error);
}

/** Moves the program's own options to the front, so that they may stand after the command too. */
function hoistGlobals(args: string[]): string[] {
  const flags = new Set(settingFlags().map(({ flag }) => flag));
  const front: string[] = [];
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === '--json' || arg === '--no-system-packages' || flags.has(arg.split('=')[0] as string)) {
      front.push(arg);
      if (flags.has(arg) && args[i + 1] !== undefined) front.push(args[++i] as string);
    } else rest.push(arg);
  }
  return [...front, ...rest];
}
