import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lastLine, run } from './run.ts';

/** Installs Debian packages for commands that are missing. */
export interface SystemPackages {
  /**
   * Makes sure that the commands are there; `wanted` maps each to its package. Answers, for those that are still
   * missing, what to do about it; undefined when nothing is missing.
   */
  ensure(wanted: Readonly<Record<string, string>>): Promise<string | undefined>;
}

/** One apt at a time on this machine: of two, one fails at the lock of the package lists. */
const aptLock = '/run/svc-apt.lock';
const aptTurn = ['-w', '300', aptLock];

/** Whether a start installs packages on this machine now. */
export const isInstalling = (): boolean =>
  existsSync(aptLock) && spawnSync('flock', ['-n', aptLock, 'true'], { stdio: 'ignore' }).status === 1;

/** `allowed` false (`--no-system-packages`) only ever answers the command; so does a machine without apt, or no root. */
export function createSystemPackages(allowed: boolean, log: (line: string) => void = () => {}): SystemPackages {
  // One apt at a time: two would meet at dpkg's lock.
  let turn: Promise<unknown> = Promise.resolve();
  return {
    ensure(wanted) {
      const next = turn.then(() => ensure(wanted, allowed, log));
      turn = next.catch(() => {});
      return next;
    },
  };
}

async function ensure(
  wanted: Readonly<Record<string, string>>,
  allowed: boolean,
  log: (line: string) => void,
): Promise<string | undefined> {
  const before = missing(wanted);
  if (before.length === 0) return undefined;
  let reason = '';
  if (allowed && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    log(`installing system packages: ${before.join(' ')}`);
    const apt = (...args: string[]) =>
      run(
        'flock',
        [
          ...aptTurn,
          'env',
          'DEBIAN_FRONTEND=noninteractive',
          'apt-get',
          '-qq',
          '-o',
          'DPkg::Lock::Timeout=120',
          ...args,
        ],
        {
          timeoutMs: 600_000,
        },
      );
    await apt('update');
    const { code, stderr } = await apt('install', '-y', '--no-install-recommends', ...before);
    if (code !== 0) reason = ` (${lastLine(stderr)})`;
  }
  const after = missing(wanted);
  if (after.length === 0) return undefined;
  return `run as root: apt-get install --no-install-recommends ${after.join(' ')}${reason}`;
}

function missing(wanted: Readonly<Record<string, string>>): string[] {
  return [
    ...new Set(
      Object.entries(wanted)
        .filter(([command]) => !hasCommand(command))
        .map(([, name]) => name),
    ),
  ];
}

/** Whether the command is in a system directory: not PATH's, which a user's login may have without the `sbin` ones. */
export function hasCommand(command: string): boolean {
  return ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'].some((directory) =>
    existsSync(`${directory}/${command}`),
  );
}
