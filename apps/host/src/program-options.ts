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

/**
 * The words of a command line with `--` where the command that is to be run begins, after `operands` of svc's own: what
 * follows its first word belongs to it, as with ssh and docker (`svc host exec box ls -la`).
 */
export function separateCommand(command: Command, words: readonly string[], operands: number): string[] {
  const takesValue = new Set(
    command.options.filter(({ required }) => required).flatMap(({ short, long }) => [short, long]),
  );
  let left = operands;
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] as string;
    if (word === '--') break;
    if (takesValue.has(word)) at += 1;
    else if (word.startsWith('-') && word !== '-') continue;
    else if (left === 0) return words.toSpliced(at, 0, '--');
    else left -= 1;
  }
  return [...words];
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
