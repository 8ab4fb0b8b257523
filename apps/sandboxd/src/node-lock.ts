import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FileLock, tryLock } from './images/lock.ts';

/** What held the lock of a killed process ends within milliseconds; on a starving machine later. */
const patienceMs = 5_000;
const pollMs = 20;

/**
 * Makes this process the only one that works on a node's directory. Throws at once, with nothing touched, when another
 * does; a lock whose process is gone is the kernel's to break.
 */
export async function lockNode(dir: string): Promise<FileLock> {
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const path = join(dir, 'lock');
  for (let waited = 0; ; waited += pollMs) {
    const lock = await tryLock(path);
    if (lock) {
      const file = await open(path, 'w', 0o600);
      await file.writeFile(`${process.pid}\n`);
      await file.close();
      return lock;
    }
    const holder = Number.parseInt(await readFile(path, 'utf8').catch(() => ''), 10);
    if (isAlive(holder) || waited > patienceMs) {
      throw new Error(`another sandboxd (pid ${holder}) holds ${dir}: end it, or name another --dir`);
    }
    await sleep(pollMs);
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
