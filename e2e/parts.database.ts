import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../apps/server/src/testing.ts';
import { freePort } from './platform.ts';

/** A database server that somebody else runs. */
export interface ForeignDatabase {
  readonly url: string;
  close(): Promise<void>;
}

/** Nobody: the server refuses to run as root. */
const nobody = 65_534;
const versionsIn = '/usr/lib/postgresql';

/** Starts a server of Debian's package in the folder, the oldest that is installed; undefined where none is, or without root. */
export async function debianDatabase(folder: string): Promise<ForeignDatabase | undefined> {
  if (process.getuid?.() !== 0 || !existsSync(versionsIn)) return undefined;
  const versions = readdirSync(versionsIn).filter((name) => existsSync(join(versionsIn, name, 'bin/postgres')));
  const [oldest] = versions.sort((a, b) => Number(a) - Number(b));
  if (oldest === undefined) return undefined;
  const bin = (name: string): string => join(versionsIn, oldest, 'bin', name);
  mkdirSync(folder);
  chownSync(folder, nobody, nobody);
  const as = { uid: nobody, gid: nobody, cwd: folder };
  const data = join(folder, 'data');
  execFileSync(bin('initdb'), ['-D', data, '-U', 'svc', '--auth=trust', '--no-sync'], { ...as, stdio: 'ignore' });
  const port = await freePort();
  const words = ['-D', data, '-p', String(port), '-k', folder, '-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1'];
  const server = spawn(bin('postgres'), words, { ...as, stdio: 'ignore' });
  const at = ['-h', '127.0.0.1', '-p', String(port), '-U', 'svc'];
  const answers = (): boolean => {
    try {
      execFileSync(bin('pg_isready'), at, { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  };
  await until(() => answers());
  execFileSync(bin('createdb'), [...at, 'svc'], { stdio: 'ignore' });
  return {
    url: `postgres://svc@127.0.0.1:${port}/svc`,
    async close() {
      const ended = once(server, 'exit');
      server.kill('SIGINT');
      await ended;
    },
  };
}
