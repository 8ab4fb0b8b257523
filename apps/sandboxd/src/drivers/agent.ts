import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { guestUid } from '../parts.ts';
import type { Limits } from '../parts.ts';

const source = join(import.meta.dirname, '../guest');

/** Where the agent is inside, on a tmpfs, so that no image must have a place for it. */
export const agentPath = '/run/svc/guest';

/** The command that is PID 1 inside. */
export const agentCommand = (limits: Limits & { processes: number }): string[] => [
  '/usr/bin/python3',
  '-I',
  '-S',
  '-B',
  `${agentPath}/main.py`,
  JSON.stringify({ uid: guestUid, memory_bytes: limits.memoryBytes, processes: limits.processes }),
];

/**
 * Copies the agent to `<dir>/<hash of its content>`, unless it is there: what a paused sandbox was started with stays as
 * it is when the product is upgraded.
 */
export async function publishAgent(dir: string): Promise<{ path: string; hash: string }> {
  const names = (await readdir(source)).filter((name) => name.endsWith('.py')).sort();
  const hash = createHash('sha256');
  for (const name of names)
    hash
      .update(name)
      .update('\0')
      .update(await readFile(join(source, name)));
  const digest = hash.digest('hex').slice(0, 32);
  const path = join(dir, digest);
  await mkdir(dir, { recursive: true, mode: 0o711 });
  if (!(await readdir(dir)).includes(digest)) {
    const fresh = join(dir, `.${digest}.${process.pid}`);
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh);
    for (const name of names) {
      await cp(join(source, name), join(fresh, name));
      await chmod(join(fresh, name), 0o644);
    }
    await chmod(fresh, 0o755);
    await rename(fresh, path);
  }
  return { path, hash: digest };
}
