import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { CommandError } from './kernel/base/command-error.ts';
import { findDataDir } from './postgres/datadir.ts';
import { findRunningProcesses } from './running.ts';

/** What to show of a log. */
interface Wanted {
  lines: string;
  follow: boolean;
  /** The log of the embedded Postgres. */
  database: boolean;
}

/**
 * Shows the log of the platform: the journal of its unit, or the file that its output goes to. Throws `CommandError` that names
 * where it goes where that cannot be read again, as a terminal.
 */
export function showLogs(config: Config, { lines, follow, database }: Wanted): void {
  if (!/^[1-9]\d{0,5}$/.test(lines)) throw new CommandError('--lines must be a number of lines');
  const dataDir = findDataDir(config);
  const place = database ? { file: join(dataDir, 'postgres.log') } : placeOfLog(dataDir);
  const flag = follow ? ['-f'] : [];
  const [program, args] =
    'unit' in place
      ? ['journalctl', ['--no-pager', '-u', place.unit, '-n', lines, ...flag]]
      : ['tail', ['-n', lines, ...flag, '--', place.file]];
  const { error, status } = spawnSync(program, args, { stdio: 'inherit' });
  if (error) throw new CommandError(`${program} is not there: ${error.message}`);
  process.exitCode = status ?? 1;
}

function placeOfLog(dataDir: string): { unit: string } | { file: string } {
  const [running] = findRunningProcesses(dataDir);
  if (!running) throw new CommandError(`nothing runs on ${dataDir}; of a unit that ended: journalctl -u svc`);
  const { pid } = running;
  if (process.platform !== 'linux') throw new CommandError(`the log is on standard error of pid ${pid}`);
  const unit = /\/([^/\n]+\.service)$/m.exec(read(`/proc/${pid}/cgroup`))?.[1];
  const output = linkOf(`/proc/${pid}/fd/2`);
  if (unit !== undefined && !unit.startsWith('user@') && output.startsWith('socket:')) return { unit };
  if (statSync(output, { throwIfNoEntry: false })?.isFile()) return { file: output };
  const where = output.startsWith('/dev/') ? `on the terminal ${output}` : `piped to another program (${output})`;
  throw new CommandError(
    `the log of pid ${pid} is ${where}; in a container: docker compose logs. To keep it: ./svc up 2>>svc.log`,
  );
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    throw new CommandError('the platform is another user’s: look as that user, or as root');
  }
}
