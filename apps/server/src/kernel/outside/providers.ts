import { statSync } from 'node:fs';
import { join } from 'node:path';
import { refuseForeign } from '../../config.foreign.ts';
import { readNamedFile } from '../../config.handed.ts';
import type { Config } from '../../config.ts';
import type { Cancel, Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';

/** Settings that say where the providers file is. */
export interface ProvidersPlace {
  readonly config: Pick<Config, 'providersFile'>;
  readonly dataDir: string;
}

/** Where the providers file is: what `SVC_PROVIDERS` names, else `providers.json` of the data dir. */
export const providersPath = ({ config, dataDir }: ProvidersPlace): string =>
  config.providersFile ?? join(dataDir, 'providers.json');

/** The file's text; undefined when no setting names a file and the default one does not exist. Throws when it cannot be read. */
export function readProvidersText(place: ProvidersPlace): string | undefined {
  refuseForeign(providersPath(place));
  try {
    return readNamedFile(providersPath(place)).toString();
  } catch (error) {
    if (place.config.providersFile === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT')
      return undefined;
    throw error;
  }
}

/** Fields that name a file with a key. */
const keyFields: ReadonlySet<string> = new Set(['api_key_file', 'token_file']);

/** The key files that a providers file names; none when it cannot be read. Throws for root when it is another user's. */
export function namedKeyFiles(path: string): string[] {
  refuseForeign(path);
  const found: string[] = [];
  try {
    JSON.parse(readNamedFile(path).toString(), (name, value: unknown) => {
      if (keyFields.has(name) && typeof value === 'string') found.push(value);
    });
  } catch {
    // A start says what is wrong with it.
  }
  return found;
}

const lookEveryMs = 5_000;

/**
 * Hands the file's text to `read`, now and whenever it, or one of the files `beside`, changes; undefined when there is
 * none. With text that `read` throws at, what was read before goes on, and the log says why. Answers how to end it.
 */
export function followProviders(
  kernel: ProvidersPlace & { clock: Clock; log: Log },
  read: (text: string | undefined) => void,
  beside: readonly string[] = [],
): Cancel {
  let changedAt: string | undefined;
  const look = (): void => {
    const now = [providersPath(kernel), ...beside].map(changeOf).join();
    if (now === changedAt) return;
    changedAt = now;
    try {
      read(readProvidersText(kernel));
    } catch (err) {
      kernel.log.error({ err }, 'the providers file cannot be used; what it said before goes on');
    }
  };
  look();
  return kernel.clock.every(lookEveryMs, look);
}

/** When a file was last written, in milliseconds since the epoch; 0 when it does not exist. */
export function changeOf(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
