import { type Lock, takeLock } from '@svc/process-lock';
import { CommandError } from './failure.ts';

/** Takes the lock file at `path` for this process; throws `CommandError` naming the process that holds it. */
export async function acquireLock(path: string): Promise<Lock> {
  const { lock, holder } = await takeLock(path);
  if (lock) return lock;
  throw new CommandError(`a host daemon already runs on this machine (pid ${holder}, ${path})`);
}
