import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';

/** What says where the providers file is. */
export interface ProvidersPlace {
  readonly config: Pick<Config, 'providersFile'>;
  readonly dataDir: string;
}

/** Where the providers file is: what `SVC_PROVIDERS` names, else `providers.json` of the data dir. */
export const providersPath = ({ config, dataDir }: ProvidersPlace): string =>
  config.providersFile ?? join(dataDir, 'providers.json');

/** The file's text; undefined when nobody named one and there is none. Throws when it cannot be read. */
export function readProvidersText(place: ProvidersPlace): string | undefined {
  try {
    return readFileSync(providersPath(place), 'utf8');
  } catch (error) {
    if (place.config.providersFile === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT')
      return undefined;
    throw error;
  }
}
