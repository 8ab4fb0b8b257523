import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NodeError } from '../error.ts';
import type { Runtime } from '../parts.ts';
import type { Driver, Instance } from './driver.ts';
import { meminfoOf } from './meminfo.ts';
import { ociSpec } from './oci.ts';
import { run } from './run.ts';

const checkpointMs = 120_000;
const deleteMs = 20_000;
const settledMs = 60_000;
const pollMs = 20;

/**
 * Enters the control group, and dies with the shim: no one would end an orphan. The runtime shows inside what it reads
 * in /proc/meminfo, so it gets one of its own, of the sandbox's memory; where that cannot be, it shows the machine's.
 */
const started = (instance: Instance, words: string[]): string[] => [
  'unshare',
  '--mount',
  '--propagation',
  'private',
  '/bin/sh',
  '-c',
  `${instance.enter === '' ? ':' : instance.enter}
mount --bind "$1" /proc/meminfo
shift
exec setpriv --pdeathsig KILL -- "$@"`,
  'sh',
  join(instance.dir, 'meminfo'),
  ...words,
];

async function prepare(instance: Instance, stateDir: string): Promise<string> {
  const bundle = join(instance.dir, 'bundle');
  await mkdir(bundle, { recursive: true });
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  await writeFile(join(bundle, 'config.json'), JSON.stringify(ociSpec(instance)));
  await writeFile(join(instance.dir, 'meminfo'), meminfoOf(instance.limits.memoryBytes));
  return bundle;
}

/** gVisor (v2): its own kernel in user space, and snapshots of memory and processes. */
export function createGvisor(runtime: Runtime, stateDir: string): Driver {
  /** Flags that every call needs, the same when a snapshot is made and when it is read. */
  const runsc = async (): Promise<string[]> => [
    await runtime.runsc(),
    '--root',
    stateDir,
    '--platform=systrap',
    // Nothing inside has a route: the agent's channels are the only way out.
    '--network=none',
    // The group is entered before runsc starts; all that it starts stays there.
    '--ignore-cgroups',
    // The image is never written to; a memory overlay over it would only grow.
    '--overlay2=none',
    '--host-uds=none',
    '--host-fifo=none',
  ];

  return {
    async create(instance) {
      const bundle = await prepare(instance, stateDir);
      return started(instance, [...(await runsc()), 'run', '--bundle', bundle, instance.id]);
    },
    async restore(instance, snapshot) {
      const bundle = await prepare(instance, stateDir);
      return started(instance, [
        ...(await runsc()),
        'restore',
        '--bundle',
        bundle,
        '--image-path',
        snapshot,
        instance.id,
      ]);
    },
    async checkpoint(instance, snapshot, leaveRunning) {
      await rm(snapshot, { recursive: true, force: true });
      await mkdir(snapshot, { recursive: true, mode: 0o700 });
      const words = ['checkpoint', '--compression=none', '--image-path', snapshot];
      if (leaveRunning) words.push('--leave-running');
      const { code, output } = await run([...(await runsc()), ...words, instance.id], checkpointMs);
      if (code !== 0) throw new Error(`checkpoint failed: ${output.trim().slice(-500)}`);
      await verify(snapshot);
    },
    async settled(id) {
      for (let waited = 0; waited < settledMs && (await isCheckpointing(id)); waited += pollMs) await sleep(pollMs);
    },
    async destroy({ id }) {
      // Its processes are gone: what is left of it are these. `runsc delete` would wait 1.5 s for the dead (measured).
      for (const name of [`${id}_sandbox:${id}.state`, `${id}_sandbox:${id}.lock`, `runsc-${id}.sock`]) {
        await rm(join(stateDir, name), { force: true });
      }
    },
    async version() {
      const { output } = await run([await runtime.runsc(), '--version'], deleteMs);
      return output.split('\n')[0] ?? '';
    },
    async check() {
      if (process.platform !== 'linux' || process.getuid?.() !== 0) {
        throw new NodeError('sandbox_capacity', 'gVisor needs sandboxd to run as root on Linux');
      }
      await runtime.runsc();
    },
  };
}

/** Whether a `runsc checkpoint` of the container runs, from this sandboxd or an earlier one. */
async function isCheckpointing(id: string): Promise<boolean> {
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const words = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (words.includes('checkpoint') && words.includes(id)) return true;
  }
  return false;
}

/** A snapshot without one of its parts, or with an empty one, restores to nothing. */
async function verify(snapshot: string): Promise<void> {
  for (const name of ['checkpoint.img', 'pages.img', 'pages_meta.img']) {
    const { size } = await stat(join(snapshot, name));
    if (size === 0) throw new Error(`checkpoint failed: ${name} is empty`);
  }
}
