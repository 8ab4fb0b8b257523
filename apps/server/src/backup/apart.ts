import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { programPath } from '../../../../packages/programs/src/index.ts';
import { type Config, processEnvironment, settingRows } from '../config.ts';
import { secretFiles } from '../config.secrets.ts';
import { CommandError } from '../kernel/base/command-error.ts';

/** A command of ours in a process of its own. */
export interface Apart {
  output: AsyncIterable<Buffer>;
  /** Rejects with what it said when it failed. */
  ended: Promise<void>;
  stop(): void;
}

const main = programPath(join(import.meta.dirname, '../main.ts'));

/**
 * A session of its own with the least share of the machine: Linux weighs sessions, and `nice` counts within one. A backup of
 * 100 MB made requests wait four times as long without that. Where sessions are not weighed, `nice` alone counts.
 */
const gently = (level: number): string => `{ echo ${level} > /proc/self/autogroup; } 2>/dev/null; exec nice -n 10 "$@"`;
const leastShare = 19;
/** After as long it is one level above: on a machine that is always full the least share is 1 part in 70, and it would not end. */
const patienceMs = 3_000;

/** The level of this session; 0 where it is one like others, or sessions are not weighed. */
function ownLevel(): number {
  try {
    return Number(/nice ([1-9]\d?)$/m.exec(readFileSync('/proc/self/autogroup', 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The level of a session below others; what a session that was hurried starts goes on from where that is. */
const firstLevel = (): number => ownLevel() || leastShare;

/** The level after another: one above, and never above that of the session which started it. */
export const nextLevel = (level: number, own: number): number => Math.max(level - 1, own, 0);

/** Gives a session more of the machine the longer it takes, to the share of the session that started it. */
function hurry(pid: number | undefined, first: number): NodeJS.Timeout {
  let level = first;
  const timer = setInterval(() => {
    level = nextLevel(level, ownLevel());
    writeFile(`/proc/${pid}/autogroup`, String(level)).catch(() => {});
    if (level <= 0) clearInterval(timer);
  }, patienceMs);
  return timer.unref();
}

/** What a command apart says of how far it is, a line each. */
const progress = /^svc: [\d,]+ MB so far\n/gm;

/** Says how far a backup is, to whoever started this process apart. */
export const tellProgress = (bytes: number): void =>
  void process.stderr.write(`svc: ${Math.round(bytes / 1_000_000).toLocaleString('en')} MB so far\n`);

/**
 * Starts a command with the settings of this process, below everything that somebody waits for. It ends with this one. `tell`
 * gets what it says of how far it is.
 */
export function startApart(config: Config, command: readonly string[], tell?: (line: string) => void): Apart {
  const level = firstLevel();
  const words = [
    '-c',
    gently(level),
    'sh',
    process.execPath,
    ...process.execArgv,
    main,
    // How the bucket is reached stands in the environment.
    ...settingsWords((flag) => flag.startsWith('--backup-s3-')),
    ...command,
  ];
  const child = spawn('/bin/sh', words, {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    env: environmentOf(config),
  });
  child.stdin.on('error', () => {});
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).replaceAll(progress, (line) => {
      tell?.(line);
      return '';
    });
    said = said.slice(-4_096);
  });
  const ended = once(child, 'close').then(([code]) => {
    if (code === 0) return;
    throw new CommandError(messageOf(said) || 'the process that makes the backup was killed');
  });
  const timer = hurry(child.pid, level);
  ended.catch(() => {}).finally(() => clearInterval(timer));
  return { output: child.stdout as AsyncIterable<Buffer>, ended, stop: () => void child.kill() };
}

/** The message that a command ended with, as text or with `--json`. */
function messageOf(said: string): string {
  const line = (said.trim().split('\n').at(-1) ?? '').replace(/^svc: /, '');
  try {
    return (JSON.parse(line) as { error: { message: string } }).error.message;
  } catch {
    return line;
  }
}

/** Ends this process when the one that started it apart is gone. Not of a command of a person: its input may be empty. */
export function endWithStarter(): void {
  process.stdin.once('end', () => process.exit(1)).resume();
  // It keeps no process that is done.
  (process.stdin as Partial<Socket>).unref?.();
}

/** Runs a command apart; answers what it printed. Signals end it first. `tell` as above. */
export async function runApart(
  config: Config,
  command: readonly string[],
  tell?: (line: string) => void,
): Promise<string> {
  const apart = startApart(config, command, tell);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      apart.stop();
      process.exit(1);
    });
  const said = await text(apart.output);
  await apart.ended;
  return said;
}

/** Settings of how the bucket of backups is reached. */
const ofBucket = /^SVC_BACKUP_S3_/;

/**
 * With the secrets that this process may have read as root: the maker, as another user, could not read their files. An operator may
 * have chosen in the hub how the bucket is reached: nothing else that settings say of it counts beside that.
 */
export function environmentOf(
  { masterKey, s3Access, backup, natsUrl, mail }: Config,
  environment = processEnvironment(),
): NodeJS.ProcessEnv {
  const { s3 } = backup;
  const known = {
    SVC_MASTER_KEY: masterKey,
    SVC_S3_SECRET_ACCESS_KEY: s3Access.secretAccessKey,
    SVC_BACKUP_PASSPHRASE: backup.passphrase,
    // Named where it is that of Amazon too: the settings file, which the maker reads, may name another one.
    SVC_BACKUP_S3_ENDPOINT: s3 && (s3.endpoint ?? amazonOf(s3.region)),
    SVC_BACKUP_S3_REGION: s3?.region,
    SVC_BACKUP_S3_ACCESS_KEY_ID: s3?.accessKeyId,
    SVC_BACKUP_S3_SECRET_ACCESS_KEY: s3?.secretAccessKey,
    SVC_NATS_URL: natsUrl,
    SVC_SMTP_URL: mail?.smtpUrl,
  };
  const rest = Object.entries(environment).filter(([name]) => !secretFiles.has(name) && !ofBucket.test(name));
  return { ...Object.fromEntries(rest), ...Object.fromEntries(Object.entries(known).filter(([, value]) => value)) };
}

const amazonOf = (region: string): string =>
  `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

/** The settings of this command line, for a process beside it; not the files of secrets, nor a flag that `isLeft` out. */
export function settingsWords(isLeft: (flag: string) => boolean = () => false): string[] {
  const flags = new Set(
    settingRows().flatMap((row) =>
      row.flags.flatMap(({ flag, gives }) => (secretFiles.has(gives) || isLeft(flag) ? [] : [flag])),
    ),
  );
  const words = process.argv.slice(2);
  return words.flatMap((word, at) => {
    if (flags.has(word)) return [word, words[at + 1] ?? ''];
    return flags.has(word.split('=')[0] ?? '') ? [word] : [];
  });
}
