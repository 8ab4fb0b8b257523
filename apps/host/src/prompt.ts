import { Command } from 'commander';
import { addPrompt, type AddOptions } from './commands/prompt.ts';
import { endWithReader } from './output.ts';
import { failureCode, onePrefix, withCommonOptions } from './program-options.ts';
import { ownVersion } from './self.ts';

/** Runs `svc prompt …`; answers the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const program = new Command('svc prompt')
    .description('prompts for later')
    .version(ownVersion())
    .exitOverride()
    .configureOutput(onePrefix);
  withCommonOptions(program.command('add'))
    .description('keep a prompt for later; without a network it is stored here, and sent by the next such command')
    .argument('<prompt...>', 'its words, or - to read it from standard input')
    .option('--to <device>', 'id or name of the device that it is for (a name needs the network)')
    .option('--at <time>', 'not before this day, 07:00 UTC, or this instant with its offset')
    .option('--run', 'launch it when it is due')
    .option('--wait', 'wait until it is sent')
    .action((prompt: string[], options: AddOptions) => addPrompt(prompt, options));
  try {
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    return failureCode(error);
  }
}

endWithReader();
process.exitCode = await main(process.argv.slice(2));
