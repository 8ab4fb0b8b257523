import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Installs the Debian packages whose commands are missing, where this process is root on a Debian; elsewhere answers,
 * for each that is missing, the command that installs it. `wanted` maps a command to its package.
 */
export function installSystemPackages(wanted: Readonly<Record<string, string>>, allowed: boolean): string[] {
  const missing = Object.entries(wanted).filter(([command]) => !hasCommand(command));
  if (missing.length === 0) return [];
  const packages = missing.map(([, name]) => name);
  if (allowed && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    console.error(`svc: installing system packages: ${packages.join(' ')}`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update', '-qq'], { stdio: ['ignore', 'ignore', 'inherit'], env });
    spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env,
    });
  }
  return missing
    .filter(([command]) => !hasCommand(command))
    .map(([command, name]) => `${command} (apt-get install ${name})`);
}

/** Whether the command is on the path. */
function hasCommand(command: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', command], { stdio: 'ignore' }).status === 0;
}
