import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { takeLock } from '@svc/process-lock';
import type { Config } from '../config.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import { findDataDir } from '../postgres/datadir.ts';
import { becomePlatform } from '../root/user.ts';
import { type Apart, startApart, tellProgress } from './apart.ts';
import { type BackupSummary, type Header, leftOut } from './format.ts';
import { makeBackup } from './make.ts';
import { type VerifiedBackup, verifyBackup } from './reader.ts';
import { newName, type Store } from './store.ts';

/** The word for a backup that is written to standard output. */
export const toStdout = '-';
const damagedMs = 5_000;
/** Whoever waits for a backup hears so often how far it is. */
const progressMs = 2_000;

/** Writes a backup to standard output, as the user of the platform. One at a time. */
export async function writeToStdout(config: Config): Promise<void> {
  if (process.stdout.isTTY) throw new CommandError('a backup is no text: name a file, or pipe it to a program');
  const dataDir = findDataDir(config);
  if (!existsSync(dataDir)) throw new CommandError(`there is no ${dataDir}: name the platform's with --data-dir`);
  becomePlatform(dataDir);
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
 * which may have another user than this one. Without a name it gets one of its installation and time.
 */
export async function createBackup(config: Config, store: Store, name?: string): Promise<BackupSummary> {
  const check = new PassThrough();
  const heard: { header?: Header } = {};
  const verified = verifyBackup(check, config.backup.passphrase, (found) => {
    heard.header = found;
  });
  // It may come before anybody waits for it.
  verified.catch(() => {});
  const chunks = checked(startApart(config, ['backup', 'create', '--apart', toStdout]), check, verified);
  // Without a name it is called by its installation, which only the file tells.
  const first: Buffer[] = [];
  while (heard.header === undefined) {
    const { value, done } = await chunks.next();
    if (done === true) break;
    first.push(value);
    await setImmediate();
  }
  const called = name ?? newName(heard.header?.installation ?? '', new Date(heard.header?.created_at ?? 0));
  await store.put(called, Readable.from(joined(first, chunks), { objectMode: false }));
  return summaryOf(store.nameOf(called), await verified);
}

async function* joined(first: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}

/** The maker's output; it ends well only when the maker did and all of it is whole. */
async function* checked(maker: Apart, check: PassThrough, verified: Promise<VerifiedBackup>): AsyncGenerator<Buffer> {
  let bytes = 0;
  const timer = setInterval(() => tellProgress(bytes), progressMs);
  try {
    for await (const chunk of maker.output) {
      bytes += chunk.length;
      if (!check.write(chunk)) await Promise.race([once(check, 'drain'), verified]);
      yield chunk;
    }
    await maker.ended;
    check.end();
    await verified;
  } finally {
    clearInterval(timer);
    check.destroy();
    maker.stop();
  }
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
    ...leftOut(manifest),
    master_key: header.seal ? 'sealed' : 'left out',
  };
}
