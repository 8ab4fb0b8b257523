import { join } from 'node:path';
import { agentCommand, agentPath } from './agent.ts';
import type { Instance } from './driver.ts';

/** Processes and threads of user code at once (README). */
export const mostProcesses = 512;

/** Packages that pip and others install for the user: on the workspace's volume, not in it, so that no clone copies them. */
export const localPath = '/home/user/.local';

/** Writable places that are memory; each ends with "no space left" before the machine does. */
export const tmpfsSizes = {
  '/tmp': 268_435_456,
  '/var/tmp': 67_108_864,
  '/home': 536_870_912,
  '/dev/shm': 67_108_864,
} as const;

/**
 * The agent alone is root inside, with what it needs to start, watch and end processes of the user; they have nothing, and
 * no way to get it (`noNewPrivileges`).
 */
const capabilities = [
  'CAP_SETUID',
  'CAP_SETGID',
  'CAP_KILL',
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_SYS_PTRACE',
  'CAP_NET_BIND_SERVICE',
];

/** The OCI configuration of a sandbox; a restore needs the same mounts, from other sources where they are others. */
export function ociSpec(instance: Instance): object {
  const rlimit = (type: string, most: number) => ({ type, hard: most, soft: most });
  return {
    ociVersion: '1.0.0',
    process: {
      user: { uid: 0, gid: 0 },
      args: agentCommand({ ...instance.limits, processes: mostProcesses }),
      env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'LANG=C.UTF-8', 'HOME=/root'],
      cwd: '/',
      noNewPrivileges: true,
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      // gVisor counts a user's processes and threads; the agent is another user, so it can always start one more.
      rlimits: [rlimit('RLIMIT_NOFILE', 4096), rlimit('RLIMIT_CORE', 0), rlimit('RLIMIT_NPROC', mostProcesses)],
    },
    root: { path: instance.rootfs, readonly: true },
    hostname: 'sandbox',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['ro', 'nosuid', 'noexec', 'nodev'] },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs' },
      {
        destination: '/run',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['nosuid', 'nodev', 'mode=755', 'size=16777216'],
      },
      ...Object.entries(tmpfsSizes).map(([destination, size]) => ({
        destination,
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['nosuid', 'nodev', destination === '/home' ? 'mode=755' : 'mode=1777', `size=${size}`],
      })),
      { destination: agentPath, type: 'bind', source: instance.guest, options: ['rbind', 'ro'] },
      { destination: '/workspace', type: 'bind', source: instance.workspace, options: ['rbind', 'rw'] },
      ...(instance.local === undefined
        ? []
        : [{ destination: localPath, type: 'bind', source: instance.local, options: ['rbind', 'rw'] }]),
    ],
    linux: {
      namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
      cgroupsPath: join('/svc', instance.id),
    },
    annotations: {},
  };
}
