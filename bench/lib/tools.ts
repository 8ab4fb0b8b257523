import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Makes sure that a Debian package's program is there: installed when this runs as root, else the command is said. */
export function ensureTool(program: string): void {
  if (isInstalled(program)) return;
  const command = ['apt-get', 'install', '-y', program] as const;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(`${program} is missing; install it: sudo ${command.join(' ')}`);
  }
  process.stderr.write(`${program} is missing: ${command.join(' ')}\n`);
  const [file, ...args] = command;
  const quiet = { stdio: 'ignore' } as const;
  if (spawnSync(file, args, quiet).status !== 0) {
    execFileSync(file, ['update'], quiet);
    execFileSync(file, args, quiet);
  }
}

const isInstalled = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
