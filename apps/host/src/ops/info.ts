import { readFileSync } from 'node:fs';
import { arch, availableParallelism, hostname, release, totalmem, type as systemType, uptime } from 'node:os';
import { hostOpNames } from '@svc/contract';
import { ownVersion } from '../self.ts';
import { defineOp } from './op.ts';

/**
 * Platform of a host as the gateway knows it; prompts run on devices of this kind. A command that only asks says none.
 */
export const devicePlatform = 'desktop';

/** `info`. */
export const info = defineOp('info', async (_, { name, policy }) => ({
  name,
  hostname: hostname(),
  platform: devicePlatform,
  os: osLabel(),
  arch: arch(),
  daemon_version: ownVersion(),
  node: process.version,
  uptime_s: Math.trunc(uptime()),
  cpus: availableParallelism(),
  memory_bytes: totalmem(),
  roots: [...policy.roots],
  ops: hostOpNames.filter((op) => policy.decisions[op] !== 'refuse'),
  capabilities: ['exec_cancel', 'base64', ...(policy.decisions.shell === 'ask' ? ['shell_approval'] : [])],
}));

/** The operating system as people call it: `Debian GNU/Linux 13 (trixie)`, else kernel and release. */
export function osLabel(): string {
  try {
    const pretty = /^PRETTY_NAME=(["']?)(.+)\1$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[2];
    if (pretty) return pretty;
  } catch {
    // Not a Linux with that file.
  }
  return `${systemType()} ${release()}`;
}
