import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, lchownSync, readFileSync, type Stats, statSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { dirname } from 'node:path';
import { isAdopted } from '../config.foreign.ts';
import { rememberFiles } from '../config.handed.ts';
import { goOnAs, main, wayFor } from './exec.ts';

/** The unprivileged user of the platform and its embedded database. */
export interface PlatformUser {
  uid: number;
  gid: number;
}

const name = 'svc';

/**
 * The user that a platform started as root becomes, and that Postgres, which refuses to run as root, runs as; undefined
 * when this process is not root. The system user `svc` is created when missing; where that cannot be done, `nobody` serves.
 */
export function platformUser(): PlatformUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const existing = lookUp(name);
  if (existing) return existing;
  try {
    const options = ['--system', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'];
    execFileSync('useradd', [...options, name], { stdio: 'ignore' });
  } catch {
    // No useradd, a read-only /etc, or another process was faster: the look-up below decides.
  }
  return lookUp(name) ?? lookUp('nobody') ?? { uid: 65_534, gid: 65_534 };
}

function lookUp(user: string): PlatformUser | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${user}:`));
  const fields = line?.split(':');
  return fields ? { uid: Number(fields[2]), gid: Number(fields[3]) } : undefined;
}

/**
 * Makes a command of root the user of the platform whose data dir it works on: it then can write and remove only what the platform
 * could. Files that it will read are read before. Where that user cannot reach clone or data dir, the command starts again with
 * mounts of its own, as the platform does; throws where that cannot be done.
 */
export function becomePlatform(dataDir: string, files: readonly string[] = []): void {
  const folder = statSync(dataDir, { throwIfNoEntry: false });
  const user = platformUser();
  if (!user || !folder || !isAdopted(folder)) return;
  // Later it may not read or write these.
  const handed = { files: rememberFiles(files.map((word) => word.slice(word.indexOf('=') + 1)).filter(isSmallFile)) };
  if (![import.meta.filename, main, dataDir].every((path) => mayRead(user, path)))
    goOnAs(user, { way: wayFor(user, dataDir), dataDir, handed, words: process.argv.slice(2) });
  flushCompileCache();
  process.setgroups?.([user.gid]);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
}

const mostRemembered = 1024 * 1024;

function isSmallFile(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size <= mostRemembered;
}

/** Lets the platform read a file of root's in its data dir, such as its providers. A file in its place keeps whose it was. */
export function showToPlatform(file: string, had?: Stats): void {
  if (process.getuid?.() !== 0) return;
  const folder = statSync(dirname(file));
  if (isAdopted(folder)) {
    lchownSync(file, 0, folder.gid);
    chmodSync(file, 0o640);
  } else if (had) lchownSync(file, had.uid, had.gid);
}

/**
 * Gives a file that a command of root made in the data dir of a platform to that platform's user; nothing else changes hands.
 */
export function giveToPlatform(file: string): void {
  if (process.getuid?.() !== 0) return;
  const folder = statSync(dirname(file));
  if (isAdopted(folder)) lchownSync(file, platformUser()?.uid ?? folder.uid, folder.gid);
}

/** Whether a user may read a file, and enter the folders above it. */
export function mayRead({ uid, gid }: PlatformUser, file: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -r "$0"', file], { uid, gid, stdio: 'ignore', cwd: '/' }).status === 0;
}
