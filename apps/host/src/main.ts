import { Command, Option } from 'commander';
import { approve, type ApproveOptions } from './commands/approve.ts';
import { enroll, type EnrollOptions } from './commands/enroll.ts';
import { enrollEnvironment, type EnrollEnvironmentOptions, isEnvironmentToken } from './commands/enroll-environment.ts';
import { exec, type ExecOptions } from './commands/exec.ts';
import {
  cancelExec,
  type ExecOutputOptions,
  listExecs,
  type ListExecsOptions,
  showExec,
  showOutput,
} from './commands/execs.ts';
import { fire, type FireOptions } from './commands/fire.ts';
import { install, type InstallOptions, uninstall } from './commands/install.ts';
import { invite, type InviteOptions } from './commands/invite.ts';
import { list } from './commands/list.ts';
import { run, type RunOptions } from './commands/run.ts';
import { relayFailedCode } from './commands/target.ts';
import type { CommonOptions } from './config.ts';
import { CommandError } from './failure.ts';
import { endWithReader } from './output.ts';
import { failureCode, onePrefix, separateCommand, withCommonOptions } from './program-options.ts';
import { ownVersion } from './self.ts';

/** Runs `svc host …`; answers the exit code. */
async function main(words: readonly string[]): Promise<number> {
  let code = 0;
  const program = new Command('svc host')
    .description('make this machine a host, run commands on other hosts')
    .version(ownVersion())
    .exitOverride()
    .configureOutput(onePrefix);
  addRun(program);
  addInstallation(program);
  addExec(program, (answered) => {
    code = answered;
  });
  withCommonOptions(program.command('list'))
    .description('hosts that are present now')
    .action((options: CommonOptions) => list(options));
  withCommonOptions(program.command('enroll'))
    .description(
      'make a key that this machine serves with and that may do nothing else; needs a key with the scope "*"',
    )
    .option('--name <name>', 'name of this host (default: its last one, else the hostname)')
    .option('--out <file>', 'write the key to a new file (0600) in place of printing it')
    .argument('[token]', 'of an environment (svc_env_…): enrol this machine in it, which needs no key')
    .option('--run', 'with a token: be a host from then on, as svc host run')
    .option('--allow-shell', 'with --run: as of svc host run')
    .action((token: string | undefined, options: EnrollOptions & EnrollEnvironmentOptions) => {
      if (token === undefined) return enroll(options);
      if (isEnvironmentToken(token)) return enrollEnvironment(token, options);
      throw new CommandError('a token of an environment begins with svc_env_');
    });
  withCommonOptions(program.command('approve'))
    .description(
      'look at commands and prompts of schedules and let this host run them; asks at a terminal of this machine',
    )
    .argument('[schedule]', 'id or name (default: each that asks)')
    .addOption(new Option('--yes').hideHelp())
    .option('--policy <file>', 'as of svc host run')
    .option('--list', 'show what is approved and what asks')
    .option('--revoke', 'withdraw the approval of the schedule')
    .action((schedule: string | undefined, options: ApproveOptions) => approve(schedule, options));
  withCommonOptions(program.command('fire'))
    .description("run a native schedule that is due and that the daemon cannot claim (for the system's own scheduler)")
    .argument('<schedule>', 'id')
    .option('--policy <file>', 'as of svc host run')
    .option('--roots <paths>', 'as of svc host run')
    .action((schedule: string, options: FireOptions) => fire(schedule, options));
  try {
    const command = program.commands.find((one) => one.name() === words[0]);
    const own = command?.name() === 'exec' ? separateCommand(command, words, 1) : words;
    await program.parseAsync(own, { from: 'user' });
    return code;
  } catch (error) {
    return failureCode(error, words[0] === 'exec' ? relayFailedCode : 1);
  }
}

function addExec(program: Command, onCode: (code: number) => void): void {
  withCommonOptions(program.command('exec'))
    .description('run a command on another host and exit with its exit code (124: timeout, 125: relay)')
    .usage('[options] <device|name> [--] <cmd...>')
    .argument('<device>', 'device id, name or hostname')
    .argument('<cmd...>', 'one word is a shell line, several are a command and its arguments')
    .option('--timeout <seconds>', 'default: 30; with --wait or --detach a day')
    .option('--cwd <directory>', 'directory on that host (default: its first root)')
    .option('--live', 'both outputs as they come, in one (default: on a terminal)')
    .option('-i, --stdin', 'pass on standard input, 1 MiB at most, once it has ended; implies --live')
    .option('--wait', 'wait for a host that is away')
    .option('--detach', 'print an id and do not wait; see svc host execs')
    .option('--expires <hours>', 'of --wait and --detach: what has not started by then never does (default: 24)')
    .addHelpText(
      'after',
      '\nWhat the command leaves in the background stays when it ends, as with ssh and cron; --timeout and a cancel end it all.',
    )
    .action(async (device: string, command: string[], options: ExecOptions) => {
      onCode(await exec(device, command, options));
    });
  const execs = program
    .command('execs')
    .description('commands that hosts do by themselves: exec with --wait or --detach');
  withCommonOptions(execs.command('list'))
    .description('the newest ones')
    .option('--host <device>', 'only of this device: id or name')
    .option('--state <state>', 'only in this state')
    .action((options: ListExecsOptions) => listExecs(options));
  withCommonOptions(execs.command('show'))
    .description('what the gateway knows of one')
    .argument('<id>')
    .action((id: string, options: CommonOptions) => showExec(id, options));
  withCommonOptions(execs.command('output'))
    .description('what one has written')
    .argument('<id>')
    .option('--follow', 'go on until it is over')
    .action((id: string, options: ExecOutputOptions) => showOutput(id, options));
  withCommonOptions(execs.command('cancel'))
    .description('keep one from starting, or have its host end it')
    .argument('<id>')
    .action((id: string, options: CommonOptions) => cancelExec(id, options));
}

function addRun(program: Command): void {
  withCommonOptions(program.command('run'))
    .description('be a host: serve operations of your other devices and run schedules until stopped')
    .option('--roots <paths>', 'comma-separated directories, in place of those of the policy file')
    .option('--name <name>', 'name of this host (default: of the policy file, else the hostname)')
    .option(
      '--tags <names>',
      'comma-separated labels by which schedules choose hosts, in place of those of the policy file',
    )
    .option('--parallel <count>', 'scheduled runs at once (default: of the policy file, else 4)')
    .option('--policy <file>', 'policy file (default: host.json in the state directory)')
    .option('--allow-shell', 'at the first run, which writes the policy file: allow commands without asking')
    .action((options: RunOptions) => run(options));
}

function addInstallation(program: Command): void {
  withCommonOptions(program.command('invite'))
    .description(
      'print the line that makes another machine, which has only Node.js, a host; needs a key with the scope "*"',
    )
    .option('--name <name>', 'name of the host (default: its hostname)')
    .option(
      '--device <id>',
      'only for this device, also when another key serves it now; needs a key with the scope "*"',
    )
    .option('--environment <slug>', 'put into the line: the machine is enrolled in this environment')
    .option('--allow-shell', 'put into the line: your other devices may run any command there')
    .action((options: InviteOptions) => invite(options));
  withCommonOptions(program.command('install'))
    .description('be a host that starts with this machine: a systemd unit, and a key that may do nothing else')
    .option('--code <code>', 'from svc host invite; without it the key file has to be there')
    .option('--name <name>', 'name of this host (default: of the invitation, else the hostname)')
    .option('--roots <paths>', 'as of svc host run')
    .option('--tags <names>', 'as of svc host run')
    .option('--environment <token>', 'enrol this machine in an environment: of svc host invite --environment')
    .option('--allow-shell', 'let your other devices run any command here; also when the policy file says otherwise')
    .action((options: InstallOptions) => install(options));
  withCommonOptions(program.command('uninstall'))
    .description('end the daemon and take away its unit, program and key')
    .action((options: CommonOptions) => uninstall(options));
}

endWithReader();
process.exitCode = await main(process.argv.slice(2));
