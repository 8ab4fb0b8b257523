import { Command } from 'commander';
import { forward, type ForwardOptions } from './commands/env/forward.ts';
import { listEnvironments } from './commands/env/list.ts';
import type { CommonOptions } from './config.ts';
import { endWithReader } from './output.ts';
import { failureCode, onePrefix, withCommonOptions } from './program-options.ts';
import { ownVersion } from './self.ts';

/** Runs `svc env …`; answers the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const program = new Command('svc env')
    .description('environments: machines that you develop on, their ports and terminals')
    .version(ownVersion())
    .exitOverride()
    .configureOutput(onePrefix);
  withCommonOptions(program.command('list'))
    .description('those in which you have a role, and whether their machines are there')
    .action((options: CommonOptions) => listEnvironments(options));
  withCommonOptions(program.command('forward'))
    .description('reach a port of one from this machine, until Ctrl-C')
    .argument('<environment>', 'slug or id')
    .argument('<port>', 'of its machine')
    .option('--local-port <port>', 'port of 127.0.0.1 (default: the same number, else a free one)')
    .option('--stdio', 'one connection over standard input and output, as a ProxyCommand of ssh')
    .action((target: string, port: string, options: ForwardOptions) => forward(target, port, options));
  try {
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    return failureCode(error);
  }
}

endWithReader();
process.exitCode = await main(process.argv.slice(2));
