import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The unprivileged user that the embedded database runs as. */
export interface DatabaseUser {
  uid: number;
  gid: number;
}

const name = 'svc';

/**
 * The user that Postgres drops to, or undefined when this process is not root and Postgres runs as itself. Postgres
 * refuses to run as root. The system user `svc` is created when missing; where that cannot be done, `nobody` serves.
 */
export function databaseUser(): DatabaseUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const existing = lookUp(name);
  if (existing) return existing;
  try {
    const options = ['--system', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'];
    execFileSync('useradd', [...options, name], { stdio: 'ignore' });
  } catch {
    // No useradd, a read-only /etc, or another process was faster: the look-up below decides.
  }
  return lookUp(name) ?? lookUp('nobody') ?? { uid: 65_534, gid: 65_534 };
}

function lookUp(user: string): DatabaseUser | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${user}:`));
  const fields = line?.split(':');
  return fields ? { uid: Number(fields[2]), gid: Number(fields[3]) } : undefined;
}
