import { existsSync } from 'node:fs';
import type { Approver } from '../approval.ts';
import type { Config } from '../config.ts';
import type { ProcessGroups } from '../groups.ts';
import type { Policy, PolicySource } from '../policy.ts';
import { runTerminal } from './terminal.ts';
import type { TunnelService } from './tunnel.ts';
import type { SystemUser } from './users.system.ts';

/** What terminals need of the daemon. */
interface LoginParts {
  config: Config;
  policy: PolicySource;
  approver: Approver;
  git: { signal: AbortSignal; groups: ProcessGroups };
  log: (line: string) => void;
}

/** Opens terminals as the policy says; `find` looks for the Linux user of a member. */
export function terminalsOf(
  { config, policy, approver, git, log }: LoginParts,
  find: (name: string) => Promise<SystemUser | undefined>,
  active: () => void,
): TunnelService['terminal'] {
  return async (linuxUser) => {
    const current = await policy.current();
    const refusal = await refuseTerminal(current.terminal, approver, git.signal);
    if (refusal !== undefined) return refusal;
    const as = makesUsers(current) ? await find(linuxUser ?? '') : null;
    if (as === undefined)
      return 'this machine has no Linux user for you; it is made within seconds of a change of members';
    active();
    return (stream, size) => {
      log(`a terminal was opened${as ? ` as ${as.name}` : ''}`);
      stream.on('data', active);
      runTerminal(stream, { ...size, ...loginOf(as, config), groups: git.groups });
    };
  };
}

/** Linux users are made by root alone. */
export const makesUsers = (policy: Policy): boolean =>
  policy.users && process.platform === 'linux' && process.getuid?.() === 0;

async function refuseTerminal(
  decision: Policy['terminal'],
  approver: Approver,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (decision === 'refuse') return 'the policy of this machine opens no terminals';
  if (decision === 'allow') return undefined;
  if (!approver.available()) return 'the policy of this machine asks about terminals, and nobody is there to answer';
  const answer = await approver.ask('may a member of this environment open a terminal here?', signal);
  return answer === 'yes' ? undefined : 'nobody at this machine agreed to it';
}

/** Where and as whom a terminal runs: as the daemon's own user, or as that of a member, who gets nothing of the daemon's. */
function loginOf(as: SystemUser | null, { home, childEnvironment }: Config) {
  if (!as) return { cwd: home, environment: childEnvironment };
  const { LANG, TERM, PATH } = childEnvironment;
  const environment = {
    ...(LANG !== undefined && { LANG }),
    ...(TERM !== undefined && { TERM }),
    PATH: PATH ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: as.home,
    USER: as.name,
    LOGNAME: as.name,
    SHELL: as.shell,
  };
  return { cwd: existsSync(as.home) ? as.home : '/', environment, as };
}
