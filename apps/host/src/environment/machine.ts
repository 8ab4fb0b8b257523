import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { platform } from 'node:os';
import { join } from 'node:path';
import { type RelayReport, relayUsers, reportBounds } from '@svc/contract';
import type { Approver } from '../approval.ts';
import type { Config } from '../config.ts';
import type { GitContext } from '../ops/git-frozen.ts';
import type { PolicySource } from '../policy.ts';
import { ownVersion } from '../self.ts';
import { watchGit } from './git.ts';
import { createListenerScan } from './listeners.ts';
import { createLockScan } from './locks.ts';
import { makesUsers, terminalsOf } from './logins.ts';
import type { TunnelService } from './tunnel.ts';
import type { MachineUsers } from './users.ts';

/** What the daemon's part for environments needs of it. */
export interface EnvironmentParts {
  config: Config;
  deviceId: string;
  policy: PolicySource;
  approver: Approver;
  git: GitContext;
  /** Paths inside of roots that nothing reaches. */
  hidden: readonly string[];
  log: (line: string) => void;
}

const capabilities = ['ports', 'terminal', 'git', 'locks'];

/** What a relay may have of this machine, as its policy file says at each request. */
export function machineService(
  { config, policy, approver, git, hidden, log }: EnvironmentParts,
  environmentId: string,
  users: MachineUsers,
): TunnelService {
  let seq = 0;
  let activity: number | null = null;
  const active = (): void => void (activity = Date.now());
  const listening = createListenerScan(config.childEnvironment);
  const locking = createLockScan({ stateDir: config.stateDir, home: config.home });
  // A commit or a checkout is work.
  const repository = watchGit({ ...git, onChange: active });
  git.signal.addEventListener('abort', () => repository.close(), { once: true });
  const report = async (): Promise<string> => {
    const current = await policy.current();
    const { roots, terminal, ports } = current;
    const [root = config.home] = roots;
    const hasUsers = makesUsers(current);
    const [listeners, state, locks, provisioned] = await Promise.all([
      listening.look(),
      repository.look(root, { roots, hidden }),
      locking.look(roots),
      hasUsers ? users.names(environmentId) : [],
    ]);
    seq += 1;
    const line: RelayReport = {
      seq,
      activity,
      listeners,
      git_state: state,
      locks,
      daemon: {
        daemon_version: ownVersion(),
        os: platform(),
        arch: process.arch,
        capabilities: hasUsers ? [...capabilities, 'users'] : capabilities,
      },
      provisioned: provisioned.slice(0, reportBounds.provisioned),
      policy: { terminal, ports },
    };
    return JSON.stringify(line);
  };
  return {
    report,
    noop: () => tryOut(config),
    async refusePort(port, isPublished) {
      const { ports } = await policy.current();
      if (ports === 'refuse') return 'the policy of this machine forwards no port';
      if (ports === 'published' && !isPublished)
        return `port ${port} is not published, and the policy of this machine forwards published ones alone`;
      active();
      return undefined;
    },
    async users(list) {
      if (!makesUsers(await policy.current())) return undefined;
      return users.provision(environmentId, relayUsers.parse(list).users);
    },
    terminal: terminalsOf({ config, policy, approver, git, log }, (name) => users.find(environmentId, name), active),
  };
}

/** Does the least that any command needs: a process, and room on the disk. */
async function tryOut({ childEnvironment, stateDir }: Config): Promise<void> {
  await Promise.all([runNothing(childEnvironment), writeNothing(stateDir)]);
}

/** Runs the smallest command there is. */
const runNothing = (environment: Readonly<Record<string, string>>): Promise<void> =>
  new Promise((resolve, reject) => {
    execFile('true', { env: environment, timeout: 5_000 }, (error) => (error ? reject(error) : resolve()));
  });

/** A machine whose disk is full runs the smallest command, and hardly any other. */
async function writeNothing(stateDir: string): Promise<void> {
  const path = join(stateDir, `usable.${randomUUID()}`);
  try {
    await writeFile(path, Buffer.alloc(4_096), { mode: 0o600 });
  } finally {
    await rm(path, { force: true });
  }
}
