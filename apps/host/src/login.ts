import { Command } from 'commander';
import { login, type LoginOptions } from './commands/login.ts';
import { logout } from './commands/logout.ts';
import { whoami } from './commands/whoami.ts';
import type { ProfileOptions } from './config.ts';
import { endWithReader } from './output.ts';
import { failureCode, onePrefix } from './program-options.ts';
import { ownVersion } from './self.ts';

/** Runs `svc login`, `svc logout` or `svc whoami`; answers the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const program = new Command('svc').version(ownVersion()).exitOverride().configureOutput(onePrefix);
  withProfile(program.command('login'))
    .description('sign this machine in; the key is kept for host, session, prompt and env')
    .argument('[url]', 'of the platform (default: SVC_BASE_URL, the platform of this clone, where it was before)')
    .option('--device', 'by a code for another device, also where a browser is')
    .option('--scopes <names>', 'comma-separated; default: what the commands of this program need')
    .option('--name <name>', 'of this machine, for the list of keys (default: its hostname)')
    .action((url: string | undefined, options: LoginOptions) => login(url, options));
  withProfile(program.command('logout'))
    .description('revoke the key of svc login and remove it from this machine')
    .action((options: ProfileOptions) => logout(options));
  withProfile(program.command('whoami'))
    .description('who is signed in, where, and what the key may do (exit code 1: nobody)')
    .action((options: ProfileOptions) => whoami(options));
  try {
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    return failureCode(error);
  }
}

/** Options that each of the three takes. */
const withProfile = (command: Command): Command =>
  command
    .option('--profile <name>', 'for several platforms side by side (default: SVC_PROFILE, else "default")')
    .option('--json', 'print data as JSON');

endWithReader();
process.exitCode = await main(process.argv.slice(2));
