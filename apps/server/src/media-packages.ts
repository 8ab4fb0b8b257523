import { createSystemPackages } from '@svc/sandboxd/system-packages';
import type { Log } from './kernel/base/log.ts';

/** Programs that read recordings, and the Debian packages that hold them. */
const wanted = { ffmpeg: 'ffmpeg', bwrap: 'bubblewrap' };

/**
 * Installs what is missing of them where this process is root, in the background: it takes a minute, and all else works
 * without. Where it cannot, the log says what to do.
 */
export async function installMediaPackages(allowed: boolean, log: Log): Promise<void> {
  const packages = createSystemPackages(allowed, (line) => log.info(line));
  const advice = await packages.ensure(wanted);
  if (advice !== undefined) log.warn(`recordings cannot be read in full: ${advice}`);
}
