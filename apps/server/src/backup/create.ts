import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { takeLock } from '@svc/process-lock';
import { type Config, processEnvironment, settingRows } from '../config.ts';
import { secretFiles } from '../config.secrets.ts';
import { CommandError } from '../kernel/base/errors.ts';
import { findDataDir } from '../postgres/datadir.ts';
import { becomePlatform } from '../root/user.ts';
import type { BackupSummary } from './format.ts';
import { makeBackup } from './make.ts';
import { type VerifiedBackup, verifyBackup } from './reader.ts';
import type { Store } from './store.ts';

/** The word for a backup that is written to standard output. */
export const toStdout = '-';
/** Below everything that somebody waits for. */
const lowPriority = 10;
const damagedMs = 5_000;

/** Writes a backup to standard output, as the user of the platform. One at a time. */
export async function writeToStdout(config: Config): Promise<void> {
  if (process.stdout.isTTY) throw new CommandError('a backup is no text: name a file, or pipe it to a program');
  const dataDir = findDataDir(config);
  becomePlatform(dataDir);
  try {
    setPriority(lowPriority);
  } catch {
    // It only takes more of the machine.
  }
  const { lock, holder } = await takeLock(join(dataDir, 'backup.lock'), damagedMs);
  if (!lock) throw new CommandError(`another backup is under way${holder === undefined ? '' : ` (pid ${holder})`}`);
  try {
    await makeBackup(config, dataDir, process.stdout, config.backup.passphrase);
  } finally {
    lock.release();
  }
}

/**
 * Makes a backup in a store and reads it to its end on its way there: what is kept is whole. A process of its own makes it,
 * which may have another user than this one.
 */
export async function createBackup(config: Config, store: Store, name: string): Promise<BackupSummary> {
  const check = new PassThrough();
  const verified = verifyBackup(check, config.backup.passphrase);
  // It may come before anybody waits for it.
  verified.catch(() => {});
  await store.put(name, Readable.from(checked(startMaker(config), check, verified), { objectMode: false }));
  return summaryOf(store.nameOf(name), await verified);
}

/** The maker's output; it ends well only when the maker did and all of it is whole. */
async function* checked(maker: Maker, check: PassThrough, verified: Promise<VerifiedBackup>): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of maker.output) {
      if (!check.write(chunk)) await Promise.race([once(check, 'drain'), verified]);
      yield chunk;
    }
    await maker.ended;
    check.end();
    await verified;
  } finally {
    check.destroy();
    maker.stop();
  }
}

/** A process that makes a backup. */
interface Maker {
  output: AsyncIterable<Buffer>;
  /** Rejects with what it said when it failed. */
  ended: Promise<void>;
  stop(): void;
}

const main = join(import.meta.dirname, '../main.ts');

function startMaker(config: Config): Maker {
  const words = [...process.execArgv, main, ...settingsWords(), 'backup', 'create', toStdout];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'], env: environmentOf(config) });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4_096)));
  const ended = once(child, 'close').then(([code]) => {
    if (code === 0) return;
    const line = said.trim().split('\n').at(-1) ?? '';
    throw new CommandError(line.replace(/^svc: /, '') || 'the process that makes the backup was killed');
  });
  ended.catch(() => {});
  return { output: child.stdout as AsyncIterable<Buffer>, ended, stop: () => void child.kill() };
}

/** With the secrets that this process may have read as root: the maker, as another user, could not read their files. */
function environmentOf({ masterKey, s3Access, backup, natsUrl, mail }: Config): NodeJS.ProcessEnv {
  const known = {
    SVC_MASTER_KEY: masterKey,
    SVC_S3_SECRET_ACCESS_KEY: s3Access.secretAccessKey,
    SVC_BACKUP_PASSPHRASE: backup.passphrase,
    SVC_NATS_URL: natsUrl,
    SVC_SMTP_URL: mail?.smtpUrl,
  };
  const rest = Object.entries(processEnvironment()).filter(([name]) => !secretFiles.has(name));
  return { ...Object.fromEntries(rest), ...Object.fromEntries(Object.entries(known).filter(([, value]) => value)) };
}

/** The settings of this command line, for a process beside it; not the files of secrets. */
function settingsWords(): string[] {
  const flags = new Set(
    settingRows().flatMap((row) => row.flags.flatMap(({ flag, gives }) => (secretFiles.has(gives) ? [] : [flag]))),
  );
  const words = process.argv.slice(2);
  return words.flatMap((word, at) => {
    if (flags.has(word)) return [word, words[at + 1] ?? ''];
    return flags.has(word.split('=')[0] ?? '') ? [word] : [];
  });
}

/** A backup in the words of its commands. */
export function summaryOf(file: string, { header, manifest, bytes }: VerifiedBackup): BackupSummary {
  return {
    file,
    created_at: header.created_at,
    svc: header.svc,
    bytes,
    entries: manifest.entries.length,
    rows: Object.values(manifest.rows).reduce((sum, count) => sum + count, 0),
    sandboxes: manifest.sandboxes.kept.length,
    master_key: header.seal ? 'sealed' : 'left out',
  };
}
