import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Set where the daemon is one file; in a clone there is no such name. */
declare const bundledVersion: string | undefined;
const bundled = typeof bundledVersion === 'string' ? bundledVersion : undefined;

/** Version of this program. */
export function ownVersion(): string {
  if (bundled !== undefined) return bundled;
  const path = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}

/** The one file that this program is; undefined in a clone. */
export const ownFile = (): string | undefined => (bundled === undefined ? undefined : fileURLToPath(import.meta.url));

/** The words that start this program, for the system to call. */
export function ownCommand(file = ownFile()): string[] {
  return file === undefined
    ? [fileURLToPath(new URL('../../../svc', import.meta.url)), 'host']
    : [process.execPath, file];
}

/** The same for `svc env`. */
export function envCommand(): string[] {
  const file = ownFile();
  const [program = '', first = ''] = ownCommand(file);
  return file === undefined ? [program, 'env'] : [program, first, 'env'];
}

/** Who this process is to the machine; one without a list of users has numbers alone. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
