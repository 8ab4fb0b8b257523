import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { guestUid, type Limits } from '../parts.ts';
import { publish } from '../published.ts';

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
  JSON.stringify({
    uid: guestUid,
    memory_bytes: limits.memoryBytes,
    processes: limits.processes,
    cpus: limits.cpus,
  }),
];

/**
 * Copies the agent to `<dir>/<hash of its content>`, unless it is there: what a paused sandbox was started with stays as
 * it is when the product is upgraded.
 */
export async function publishAgent(dir: string): Promise<{ path: string; hash: string }> {
  const names = (await readdir(source)).filter((name) => name.endsWith('.py'));
  const files = names.map(async (name) => [name, await readFile(join(source, name), 'utf8')] as const);
  return publish(dir, new Map(await Promise.all(files)));
}
