import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Flock, isAlive, tryFlock } from '@svc/process-lock';

/** The process that holds a lock for a killed sandboxd ends within milliseconds; on a starving machine later. */
const patienceMs = 5_000;
const pollMs = 20;
const lookAgainMs = 1_000;

/** Another process works on the directory. */
class NodeHeld extends Error {
  override name = 'NodeHeld';
}

/**
 * Makes this process the only one that works on a node's directory. Throws at once, with nothing touched, when another
 * does; Linux frees the lock of a process that is gone.
 */
export async function lockNode(dir: string): Promise<Flock> {
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const path = join(dir, 'lock');
  for (let waited = 0; ; waited += pollMs) {
    const lock = await tryFlock(path);
    if (lock) {
      const file = await open(path, 'w', 0o600);
      await file.writeFile(`${process.pid}\n`);
      await file.close();
      return lock;
    }
    const holder = Number.parseInt(await readFile(path, 'utf8').catch(() => ''), 10);
    if ((Number.isInteger(holder) && isAlive(holder)) || waited > patienceMs) {
      throw new NodeHeld(`another sandboxd (pid ${holder}) holds ${dir}: end it, or name another --dir`);
    }
    await sleep(pollMs);
  }
}

/** The same, but waits while another process works on the directory; `held` hears once who that is. */
export async function lockNodeWhenFree(dir: string, held: (why: string) => void): Promise<Flock> {
  for (let isTold = false; ; isTold = true) {
    try {
      return await lockNode(dir);
    } catch (error) {
      if (!(error instanceof NodeHeld)) throw error;
      if (!isTold) held(error.message);
    }
    await sleep(lookAgainMs);
  }
}
