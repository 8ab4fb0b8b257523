import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NodeClient } from '@svc/sandboxd-api';

const sandboxd = resolve(import.meta.dirname, '../../apps/sandboxd/src/main.ts');
/** Root file systems of sandboxes. */
export const images = process.env['SVC_SANDBOX_IMAGES'] ?? '/var/cache/svc/images';
/** Sandboxes that wait. */
export const warm = 2;
const poolMs = 120_000;

/** The node agent of a data directory. */
export interface Node extends Disposable {
  readonly dir: string;
  readonly client: NodeClient;
}

/** The node agent below a data directory; at the end whatever it holds is removed. */
export function nodeIn(dir: string): Node {
  const client = new NodeClient(join(dir, 'sandboxd.sock'));
  return {
    dir,
    client,
    [Symbol.dispose]() {
      client.close();
      execFileSync(process.execPath, [sandboxd, 'clear', '--dir', dir], { stdio: 'ignore' });
    },
  };
}

/** Waits until `count` instances are there, the warm ones among them. */
export async function waitForPool(dir: string, count = warm): Promise<void> {
  const instances = (): number => (hasGolden(dir) ? instancesOf(dir).length : 0);
  const limit = performance.now() + poolMs;
  while (instances() !== count && performance.now() < limit) await delay(50);
  // The last of them is there before it answers.
  await delay(300);
}

const hasGolden = (dir: string): boolean => namesIn(join(dir, 'golden')).some((name) => !name.endsWith('.new'));
const instancesOf = (dir: string): string[] => namesIn(join(dir, 'live'));

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

/** Root file system that the node makes sandboxes from. */
export function imageOf(): string {
  const holds = (name: string): boolean => {
    const file = join(images, name, 'image.json');
    return existsSync(file) && readFileSync(file, 'utf8').includes('"svc-base"');
  };
  const found = namesIn(images).find(holds);
  if (found === undefined)
    throw new Error(`no svc-base in ${images}: svc images build svc-base, or SVC_SANDBOX_IMAGES`);
  return join(images, found, 'rootfs');
}

/** MiB that an idle sandbox takes, of memory and in the share of what several share; with its shim. */
export async function densityOf(node: Node, backend: 'v1' | 'v2', count: number): Promise<number> {
  const expires_at = Date.now() + 600_000;
  const before = pssOf(node.dir);
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) {
    await node.client.create(id, { backend, template: 'svc-base', egress: { mode: 'none' }, expires_at });
  }
  await waitForPool(node.dir, warm + count);
  const each = (pssOf(node.dir) - before) / count / 1024;
  await Promise.all(ids.map((id) => node.client.destroy(id)));
  return each;
}

/** KiB of every process of a node's sandboxes; what several share is shared out among them. */
function pssOf(dir: string): number {
  const instances = instancesOf(dir);
  const isOurs = (pid: string): boolean => {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    const group = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    return (words.includes(dir) && !words.includes('--socket')) || instances.some((id) => group.includes(id));
  };
  let sum = 0;
  for (const pid of namesIn('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!isOurs(pid)) continue;
      sum += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      // It ended meanwhile.
    }
  }
  return sum;
}
