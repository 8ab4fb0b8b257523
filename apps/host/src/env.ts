import { Command } from 'commander';
import { forward, type ForwardOptions } from './commands/env/forward.ts';
import { accept, decline, listInvitations } from './commands/env/invitations.ts';
import { listEnvironments } from './commands/env/list.ts';
import { lock, type LockOptions } from './commands/env/lock.ts';
import { open, type OpenOptions } from './commands/env/open.ts';
import { sshConfig, type SshConfigOptions } from './commands/env/ssh-config.ts';
import { terminal } from './commands/env/terminal.ts';
import { relayFailedCode } from './commands/target.ts';
import type { CommonOptions } from './config.ts';
import { endWithReader } from './output.ts';
import { failureCode, onePrefix, separateCommand, withCommonOptions } from './program-options.ts';
import { ownVersion } from './self.ts';

/** Runs `svc env …`; answers the exit code. */
async function main(words: readonly string[]): Promise<number> {
  let code = 0;
  const program = new Command('svc env')
    .description('environments: machines that you develop on, their ports and terminals')
    .version(ownVersion())
    .exitOverride()
    .configureOutput(onePrefix);
  withCommonOptions(program.command('list'))
    .description('those in which you have a role, and whether their machines are there')
    .action((options: CommonOptions) => listEnvironments(options));
  addInvitations(program);
  withCommonOptions(program.command('forward'))
    .description('reach a port of one from this machine, until Ctrl-C')
    .argument('<environment>', 'slug or id')
    .argument('<port>', 'of its machine')
    .option('--local-port <port>', 'port of 127.0.0.1 (default: the same number, else a free one)')
    .option('--stdio', 'one connection over standard input and output, as a ProxyCommand of ssh')
    .action((target: string, port: string, options: ForwardOptions) => forward(target, port, options));
  withCommonOptions(program.command('terminal'))
    .description(
      'open a terminal on its machine, and exit with the code of its shell (125: relay); Enter ~ . leaves it',
    )
    .argument('<environment>', 'slug or id')
    .action(async (target: string, options: CommonOptions) => {
      code = await terminal(target, options);
    });
  withCommonOptions(program.command('open'))
    .description(
      'wait until commands run there; then the address of a published port for a browser, or a table of ports',
    )
    .argument('<environment>', 'slug or id')
    .argument('[port]', 'a published one')
    .option('--browser', 'open it in the browser of this machine')
    .action((target: string, port: string | undefined, options: OpenOptions) => open(target, port, options));
  withCommonOptions(program.command('ssh-config'))
    .description('print lines for ~/.ssh/config, with which ssh svc-<slug> reaches them through svc env forward')
    .argument('[environments...]', 'slugs or ids (default: your own, and those where you set an SSH key)')
    .option('--port <port>', 'where its ssh server listens', '22')
    .action((targets: string[], options: SshConfigOptions) => sshConfig(targets, options));
  withCommonOptions(program.command('lock'))
    .description('on the machine: run a command while you hold one of its named locks, and exit with its code')
    .usage('[options] <name> [--] <cmd...>')
    .argument('<name>', 'letters, digits, ".", "_" and "-"')
    .argument('<cmd...>', 'a command and its arguments')
    .option('--no-wait', 'exit with 75 when another process holds it')
    .action(async (name: string, command: string[], options: LockOptions) => {
      code = await lock(name, command, options);
    });
  try {
    const command = program.commands.find((one) => one.name() === words[0]);
    const own = command?.name() === 'lock' ? separateCommand(command, words, 1) : words;
    await program.parseAsync(own, { from: 'user' });
    return code;
  } catch (error) {
    return failureCode(error, words[0] === 'terminal' || words[0] === 'lock' ? relayFailedCode : 1);
  }
}

/** What to do about invitations of others. */
function addInvitations(program: Command): void {
  withCommonOptions(program.command('invitations'))
    .description('who invites you to theirs')
    .action((options: CommonOptions) => listInvitations(options));
  withCommonOptions(program.command('accept'))
    .description('accept an invitation: you are a member from then on')
    .argument('<id>', 'as svc env invitations prints it')
    .option('--role <role>', 'the role that you accept; to be said where it is owner')
    .action((target: string, options: CommonOptions & { role?: string }) => accept(target, options));
  withCommonOptions(program.command('decline'))
    .description('decline an invitation; they are not told, and cannot ask again for 30 days')
    .argument('<id>', 'as svc env invitations prints it')
    .action((target: string, options: CommonOptions) => decline(target, options));
}

endWithReader();
process.exitCode = await main(process.argv.slice(2));
