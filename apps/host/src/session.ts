import { Command } from 'commander';
import {
  listSessions,
  type SendOptions,
  sendPrompt,
  showSession,
  type TailOptions,
  tailSession,
} from './commands/session.ts';
import type { CommonOptions } from './config.ts';
import { endWithReader } from './output.ts';
import { failureCode, onePrefix, withCommonOptions } from './program-options.ts';
import { ownVersion } from './self.ts';

/** Runs `svc session …`; answers the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const program = new Command('svc session')
    .description('sessions that your devices share: look into them, follow them, send prompts')
    .version(ownVersion())
    .exitOverride()
    .configureOutput(onePrefix);
  withCommonOptions(program.command('list'))
    .description('the newest sessions')
    .action((options: CommonOptions) => listSessions(options));
  withCommonOptions(program.command('show'))
    .description('what was said in a session')
    .argument('<session>', 'id')
    .action((id: string, options: CommonOptions) => showSession(id, options));
  withCommonOptions(program.command('tail'))
    .description('events of a session as they come, until Ctrl-C')
    .argument('<session>', 'id')
    .option('--after <seq>', 'only events after this one', '0')
    .action((id: string, options: TailOptions) => tailSession(id, options));
  withCommonOptions(program.command('send'))
    .description(
      'send a prompt to the device that writes to a session, or to another one; without a network it is stored here, and ' +
        'sent by the next such command',
    )
    .argument('<session>', 'id, or "new" to begin one, which needs the network')
    .argument('<prompt...>', 'its words, or - to read it from standard input')
    .option('--to <device>', 'id or name of the device')
    .option('--title <text>', 'of a new session')
    .option('--wait', 'wait until it is sent')
    .action((id: string, prompt: string[], options: SendOptions) => sendPrompt(id, prompt, options));
  try {
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    return failureCode(error);
  }
}

endWithReader();
process.exitCode = await main(process.argv.slice(2));
