import { type Command, CommanderError } from 'commander';
import { CommandError } from './failure.ts';
import { createOutput } from './output.ts';

/** commander begins its errors with a word of its own; every command of svc begins them alike. */
export const onePrefix = {
  outputError: (text: string, write: (text: string) => void): void => write(text.replace(/^error: /, 'svc: ')),
};

/** Options that every command takes: whose key, which gateway, where its files are. */
export function withCommonOptions(command: Command): Command {
  return command
    .option(
      '--key <key>',
      'API key (default: that of --key-file, else SVC_API_KEY, else of svc login); visible to other users, prefer a file',
    )
    .option('--key-file <file>', 'file that holds the API key')
    .option('--profile <name>', 'sign-in of svc login (default: SVC_PROFILE, else "default")')
    .option(
      '--url <url>',
      'gateway (default: SVC_BASE_URL, else that of svc login, else the platform of this clone, else http://localhost:8787)',
    )
    .option('--state-dir <directory>', 'device id, policy and lock (default: ~/.config/svc)')
    .option('--json', 'print data as JSON');
}

/** One line on standard error, and the exit code that `error` stands for; `code`: of what is no failure of a command. */
export function failureCode(error: unknown, code = 1): number {
  // commander has printed its own line; help and version are no failures.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : code === 1 ? error.exitCode : code;
  createOutput().log(error instanceof Error ? error.message : String(error));
  const own = error instanceof CommandError ? error.exitCode : 1;
  // 1 may be the answer of the command on the other host.
  return own === 1 ? code : own;
}
