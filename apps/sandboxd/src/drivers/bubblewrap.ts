import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NodeError } from '../error.ts';
import { guestUid } from '../parts.ts';
import { agentCommand, agentPath } from './agent.ts';
import type { Driver, Instance } from './driver.ts';
import { meminfoOf } from './meminfo.ts';
import { namespaceAdvice } from './namespaces.ts';
import { localPath, mostProcesses, tmpfsSizes } from './oci.ts';
import { run } from './run.ts';
import { seccompProgram } from './seccomp.ts';

const probeMs = 10_000;
/** A user that owns nothing, to try with. */
const probeUid = 719_999;

/**
 * Runs before bubblewrap, as root, in a mount namespace of its own: the image, the workspace and the agent lie below
 * directories that only root can enter, and bubblewrap is not root. What root's bubblewrap maps to is root on the host,
 * and code inside could write `/proc/sys/kernel/core_pattern` (measured).
 */
const asUser = `
mount -t tmpfs -o mode=755,size=64k svc /mnt && mkdir /mnt/root /mnt/workspace /mnt/guest /mnt/local &&
mount --bind "$1" /mnt/root && mount --bind "$2" /mnt/workspace && mount --bind "$3" /mnt/guest &&
cp "$6" /mnt/meminfo && chmod 644 /mnt/meminfo || exit 1
if [ -n "$7" ]; then mount --bind "$7" /mnt/local || exit 1; fi
uid=$4 filter=$5
shift 7
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups --pdeathsig KILL -- "$@" 3<"$filter"`;

/** The same where sandboxd is no root: its own user runs everything, inside a user namespace. */
const asSelf = `
filter=$1
shift
exec setpriv --pdeathsig KILL -- "$@" 3<"$filter"`;

/** bubblewrap (v1): namespaces and a system call filter; no snapshots. */
export function createBubblewrap(): Driver {
  const isRoot = process.getuid?.() === 0;
  const none = async (): Promise<never> => {
    throw new NodeError('not_supported_on_v1', 'v1 sandboxes have no memory snapshots');
  };
  return {
    async create(instance) {
      await mkdir(instance.dir, { recursive: true, mode: 0o700 });
      const filter = join(instance.dir, 'seccomp.bpf');
      const program = seccompProgram(process.arch);
      if (!program) throw new NodeError('sandbox_capacity', `no system call filter for ${process.arch}`);
      await writeFile(filter, program);
      const meminfo = join(instance.dir, 'meminfo');
      await writeFile(meminfo, meminfoOf(instance.limits.memoryBytes));
      const { rootfs, workspace, guest, local } = instance;
      const enter = `${instance.enter === '' ? ':' : instance.enter}\nexec "$@"`;
      const shell = ['/bin/sh', '-c', enter, 'sh'];
      if (!isRoot) {
        const own = { rootfs, workspace, guest, meminfo, local: local ?? '' };
        return [...shell, '/bin/sh', '-c', asSelf, 'sh', filter, ...bwrap(instance, own)];
      }
      const places = {
        rootfs: '/mnt/root',
        workspace: '/mnt/workspace',
        guest: '/mnt/guest',
        meminfo: '/mnt/meminfo',
        local: '/mnt/local',
      };
      const unshared = ['unshare', '--mount', '--propagation', 'private', '/bin/sh', '-c', asUser, 'sh'];
      const placed = [rootfs, workspace, guest, String(instance.uid), filter, meminfo, local ?? ''];
      return [shell, ['setpriv', '--pdeathsig', 'KILL', '--'], unshared, placed, bwrap(instance, places)].flat();
    },
    restore: none,
    checkpoint: none,
    async settled() {},
    // Namespaces and mounts go with the last process.
    async destroy() {},
    version: async () => (await run(['bwrap', '--version'], probeMs)).output.trim(),
    async check() {
      const who = isRoot
        ? ['setpriv', '--reuid', String(probeUid), '--regid', String(probeUid), '--clear-groups', '--']
        : [];
      const { code, output } = await run([...who, 'bwrap', ...isolation, '--ro-bind', '/', '/', 'true'], probeMs);
      if (code !== 0) throw new NodeError('sandbox_capacity', await adviceFor(output));
    },
  };
}

const isolation = [
  '--unshare-all',
  '--unshare-user',
  '--die-with-parent',
  '--new-session',
  '--disable-userns',
  '--cap-drop',
  'ALL',
];

function bwrap(
  instance: Instance,
  places: { rootfs: string; workspace: string; guest: string; meminfo: string; local: string },
): string[] {
  const memory = Object.entries(tmpfsSizes).filter(([path]) => path !== '/dev/shm');
  return [
    ['bwrap'],
    isolation,
    // For the agent's name server; it gives the capability up before it starts anything.
    ['--cap-add', 'CAP_NET_BIND_SERVICE'],
    ['--uid', String(guestUid), '--gid', String(guestUid), '--hostname', 'sandbox', '--as-pid-1', '--clearenv'],
    ['--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin', '--setenv', 'LANG', 'C.UTF-8'],
    ['--ro-bind', places.rootfs, '/', '--proc', '/proc', '--dev', '/dev'],
    // The machine's memory is not theirs.
    ['--ro-bind', places.meminfo, '/proc/meminfo'],
    ...memory.map(([path, size]) => {
      const mode = path === '/home' ? '0755' : '1777';
      return ['--perms', mode, '--size', String(size), '--tmpfs', path];
    }),
    ['--size', String(tmpfsSizes['/dev/shm']), '--tmpfs', '/dev/shm'],
    instance.local === undefined ? [] : ['--bind', places.local, localPath],
    ['--size', '16777216', '--tmpfs', '/run', '--ro-bind', places.guest, agentPath],
    // Its owner is the user of the sandbox: nobody may put another agent in the place of this one.
    ['--remount-ro', '/run'],
    ['--bind', places.workspace, '/workspace', '--chdir', '/workspace', '--seccomp', '3', '--'],
    agentCommand({ ...instance.limits, processes: mostProcesses }),
  ].flat();
}

/** Advice in one line on an error of bubblewrap. */
async function adviceFor(output: string): Promise<string> {
  if (/ENOENT|not found|failed to execute bwrap/.test(output))
    return 'bubblewrap is not installed: apt-get install bubblewrap';
  if (/namespace|Operation not permitted|Permission denied/.test(output)) {
    return `${await namespaceAdvice()} (${output.trim().slice(-200)})`;
  }
  return `bubblewrap does not run: ${output.trim().slice(-300)}`;
}
