import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type RelayReport, reportBounds } from '@svc/contract';
import { heldNames } from './lock-files.ts';

/** A held lock, as it is reported. */
type Held = RelayReport['locks'][number];

/** Looks for locks that are held on this machine. */
interface LockScan {
  /** Those of `svc env lock` first, then git's in each root, then those of package managers. */
  look(roots: readonly string[]): Promise<Held[]>;
}

/** Where locks are looked for. */
interface LockOptions {
  stateDir: string;
  home: string;
  /** Files of package managers; those of this machine unless a test gives others. */
  files?: PackageLocks;
}

/** Files by which package managers keep each other out. */
interface PackageLocks {
  /** Always there, and locked while they are held. */
  locked: readonly (readonly [name: string, path: string])[];
  /** There while they are held. */
  made: readonly (readonly [name: string, path: string])[];
}

const packageLocks = (home: string): PackageLocks => ({
  locked: [
    ['dpkg', '/var/lib/dpkg/lock-frontend'],
    ['apt', '/var/lib/apt/lists/lock'],
    ['rpm', '/var/lib/rpm/.rpm.lock'],
    ['apk', '/lib/apk/db/lock'],
    ['cargo', join(home, '.cargo/.package-cache')],
  ],
  made: [['pacman', '/var/lib/pacman/db.lck']],
});

/** Makes the scan of a daemon. */
export function createLockScan({ stateDir, home, files = packageLocks(home) }: LockOptions): LockScan {
  /** When a lock whose file does not say it was first seen held. */
  let seen = new Map<string, number>();
  return {
    async look(roots) {
      const now = Date.now();
      const made = [
        ...roots.map((root) => [join(root, '.git/index.lock'), join(root, '.git/index.lock')] as const),
        ...files.made,
      ];
      const there = await Promise.all(made.map(([name, path]) => thereSince(name, path)));
      const holders = await lockHolders();
      const before = seen;
      seen = new Map();
      const locked: Held[] = [];
      for (const [name, path] of files.locked) {
        const holder = await holderOf(path, holders);
        if (holder === undefined) continue;
        const since = before.get(name) ?? now;
        seen.set(name, since);
        locked.push({ name, holder, since });
      }
      return [...(await heldNames(stateDir)), ...there.flat(), ...locked].slice(0, reportBounds.locks);
    },
  };
}

/** A file that is there for as long as its lock is held: its time is when it was taken. */
async function thereSince(name: string, path: string): Promise<Held[]> {
  const found = await stat(path).catch(() => undefined);
  return found ? [{ name, holder: null, since: Math.trunc(found.mtimeMs) }] : [];
}

/**
 * Processes that hold a file lock, by the file as `/proc/locks` names it. Empty where there is no such file: another
 * system shows only locks that are files.
 */
async function lockHolders(): Promise<Map<string, number>> {
  const text = await readFile('/proc/locks', 'utf8').catch(() => '');
  const holders = new Map<string, number>();
  for (const line of text.split('\n')) {
    // One that waits for another has an arrow before its kind.
    const [, pid, file] = /^\d+: (?:POSIX|FLOCK|OFDLCK)\s+\w+\s+WRITE\s+(-?\d+)\s+(\S+)/.exec(line) ?? [];
    if (pid !== undefined && file !== undefined) holders.set(file, Number(pid));
  }
  return holders;
}

/** Undefined when the file is not locked. */
async function holderOf(path: string, holders: ReadonlyMap<string, number>): Promise<string | null | undefined> {
  const found = holders.size === 0 ? undefined : await stat(path).catch(() => undefined);
  if (!found) return undefined;
  const hex = (value: number) => value.toString(16).padStart(2, '0');
  // As the kernel takes numbers of devices apart.
  const [major, minor] = [(found.dev >>> 8) & 0xfff, (found.dev & 0xff) | ((found.dev >>> 12) & 0xfff00)];
  const pid = holders.get(`${hex(major)}:${hex(minor)}:${found.ino}`);
  if (pid === undefined) return undefined;
  // Of a process in another namespace there is no number.
  if (pid <= 0) return null;
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  return `${name.trimEnd() || 'process'} (pid ${pid})`;
}
