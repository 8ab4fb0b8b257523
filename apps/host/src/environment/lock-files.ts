import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, processStart, takeLock, tryFlock, waitForFlock } from '@svc/process-lock';
import { z } from 'zod';
import { CommandError, errnoOf } from '../failure.ts';
import { userName } from '../self.ts';
import { writePrivate } from '../state.ts';

/** Who holds a named lock. */
const holderFile = z.object({
  pid: z.int(),
  /** As `processStart` says it, so that a later process of that number does not hold the lock. */
  started: z.string(),
  user: z.string(),
  /** Milliseconds since the epoch. */
  since: z.int(),
});
type Holder = z.output<typeof holderFile>;

/** A lock that this process holds. */
interface HeldLock {
  release(): Promise<void>;
}

/** How a lock is waited for. */
interface WaitOptions {
  stateDir: string;
  /** Told once when another process holds the lock, with who it is. */
  onWait: (holder: string) => void;
  /** Gives up at once when another process holds it. */
  isImpatient?: boolean;
  signal: AbortSignal;
}

/** In the state directory. */
const folder = 'locks';
const pollMs = 200;
const mostNames = 1_000;

/** Throws `CommandError` when `name` is no name of a lock: it is that of a file too. */
function checkLockName(name: string): void {
  if (/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) return;
  throw new CommandError(`"${name}" is no name of a lock: letters, digits, ".", "_" and "-", at most 64`);
}

/**
 * Waits for the lock `name` of this state directory and takes it: as a `flock`, which the system frees however this process
 * ends, else as a lock file. Undefined when `signal` aborted first, or another holds it and the caller is impatient.
 */
export async function holdNamed(name: string, options: WaitOptions): Promise<HeldLock | undefined> {
  checkLockName(name);
  const directory = join(options.stateDir, folder);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const before = await holderOf(join(directory, `${name}.json`));
  if (before) options.onWait(nameOf(before));
  const file = join(directory, `${name}.lock`);
  const flock = options.isImpatient ? tryFlock(file) : waitForFlock(file, options.signal);
  const lock = await flock.catch((error: unknown) => {
    if (errnoOf(error) !== 'ENOENT') throw error;
    return pollForLock(join(directory, `${name}.pid`), options);
  });
  if (!lock) return undefined;
  const path = join(directory, `${name}.json`);
  const { pid } = process;
  const holder: Holder = { pid, started: processStart(pid) ?? '', user: userName(), since: Date.now() };
  await writePrivate(path, JSON.stringify(holder), false);
  return {
    async release() {
      await rm(path, { force: true });
      await lock.release();
    },
  };
}

async function pollForLock(path: string, { signal, isImpatient }: WaitOptions): Promise<HeldLock | undefined> {
  while (!signal.aborted) {
    const { lock } = await takeLock(path);
    if (lock) return { release: async () => lock.release() };
    if (isImpatient) return undefined;
    await sleep(pollMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}

/** The named locks that are held now. */
export async function heldNames(stateDir: string): Promise<{ name: string; holder: string; since: number }[]> {
  const directory = join(stateDir, folder);
  const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.json')).slice(0, mostNames);
  const held = await Promise.all(
    names.map(async (name) => {
      const holder = await holderOf(join(directory, name));
      return holder ? [{ name: name.slice(0, -'.json'.length), holder: nameOf(holder), since: holder.since }] : [];
    }),
  );
  return held.flat();
}

const nameOf = ({ user, pid }: Holder): string => `${user} (pid ${pid})`;

/** What a file of a lock says; undefined when there is none, or the process in it is gone. */
async function holderOf(path: string): Promise<Holder | undefined> {
  try {
    const holder = holderFile.parse(JSON.parse(await readFile(path, 'utf8')));
    return isRunning(holder) ? holder : undefined;
  } catch {
    return undefined;
  }
}
