/** The thinnest stand-ins for the parts of a node, for tests. */
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { NodeParts } from './sandboxes/index.ts';

const run = promisify(execFile);

/** Files without any care for what code inside may do to them. */
const plainFiles: NodeParts['files'] = {
  async write(root, name, body, { uid }) {
    const bytes = await buffer(body);
    await writeFile(join(root, name), bytes);
    await chown(join(root, name), uid, uid);
    return { path: name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  },
  read: async (root, name) => ({
    bytes: (await stat(join(root, name))).size,
    body: createReadStream(join(root, name)),
  }),
  list: async () => [],
  walk: async () => [],
  async changed(root, below, sinceMs) {
    const names = await readdir(join(root, below)).catch(() => []);
    const all = await Promise.all(
      names.map(async (name) => {
        const bytes = await readFile(join(root, below, name));
        const { ctimeMs } = await stat(join(root, below, name));
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        return { path: join(below, name), sha256, bytes: bytes.length, ctimeMs };
      }),
    );
    return all.filter(({ ctimeMs }) => ctimeMs >= sinceMs).map(({ path, sha256, bytes }) => ({ path, sha256, bytes }));
  },
  archive: () => {
    throw new Error('not here');
  },
};

/** Parts over plain directories below `dir`, an image that is there, and the `runsc` at a path. */
export function standIns(dir: string, rootfs: string, runsc: string): NodeParts {
  const path = (id: string): string => join(dir, id);
  const image = { template: 'svc-base', digest: `sha256:${'0'.repeat(64)}`, rootfs } as const;
  const status = {
    template: image.template,
    state: 'ready',
    progress: 1,
    step: 'ready',
    digest: image.digest,
  } as const;
  return {
    images: {
      status: () => [status],
      get: (template) => (template === image.template ? image : undefined),
      ready: async () => image,
      build: async () => image,
    },
    workspaces: {
      path,
      async create(id, uid) {
        await mkdir(join(path(id), 'out'), { recursive: true, mode: 0o700 });
        await chown(path(id), uid, uid);
        await chown(join(path(id), 'out'), uid, uid);
        return path(id);
      },
      async clone(from, to) {
        await run('cp', ['-a', '--reflink=auto', path(from), path(to)]);
        return path(to);
      },
      remove: (id) => rm(path(id), { recursive: true, force: true }),
      usage: async () => ({ bytes: 0, inodes: 0 }),
      isTooLarge: async () => false,
      list: async () => await readdir(dir).catch(() => []),
      async close() {},
    },
    groups: createGroups(dir),
    files: plainFiles,
    scanner: { scan: async () => ({ verdict: 'error' }), async close() {} },
    runtime: { runsc: async () => runsc },
    log: () => {},
  };
}

/** One group in the pids hierarchy of version 1, which limits nothing here but finds every process. */
function createGroups(dir: string): NodeParts['groups'] {
  const parent = join('/sys/fs/cgroup/pids', `svc-test-${createHash('sha256').update(dir).digest('hex').slice(0, 8)}`);
  const processesOf = async (group: string): Promise<number[]> =>
    (await readFile(join(group, 'cgroup.procs'), 'utf8').catch(() => '')).split('\n').filter(Boolean).map(Number);
  return {
    list: async () =>
      (await readdir(parent, { withFileTypes: true }).catch(() => []))
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name),
    async open(id) {
      const group = join(parent, id);
      const kill = async (): Promise<void> => {
        for (;;) {
          const pids = await processesOf(group);
          if (pids.length === 0) return;
          for (const pid of pids) {
            try {
              process.kill(pid, 'SIGKILL');
            } catch {
              // It ended by itself.
            }
          }
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      await mkdir(group, { recursive: true });
      return {
        enter: `echo $$ > ${group}/cgroup.procs`,
        memoryBytes: async () => 0,
        processes: () => processesOf(group),
        oomKills: async () => 0,
        kill,
        async remove() {
          await kill();
          await run('rmdir', [group]).catch(() => {});
        },
      };
    },
  };
}
