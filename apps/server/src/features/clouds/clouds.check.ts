import { type Config, ConfigError } from '../../config.ts';
import { systemClock } from '../../kernel/base/clock.ts';
import { type ProvidersPlace, providersPath, readProvidersText } from '../../kernel/outside/providers.ts';
import { createUpstream } from '../../kernel/outside/upstream.ts';
import type { Cloud, CloudParts } from './clouds.driver.ts';
import { ec2 } from './clouds.ec2.ts';
import { parseClouds } from './clouds.file.ts';
import { hetzner } from './clouds.hetzner.ts';

const kinds = { hetzner, ec2 };

/** Machines at a provider of the file. */
export const openCloud = (parts: CloudParts): Cloud => kinds[parts.entry.kind](parts);

/** Throws `ConfigError` when the file's providers of machines cannot be used: a start says so. */
export function checkCloudsFile(place: ProvidersPlace): void {
  try {
    parseClouds(readProvidersText(place), systemClock);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(`SVC_PROVIDERS: ${providersPath(place)}: ${code ?? message}`);
  }
}

/** Asks every provider of machines for one machine type; tells which one answers, and in how many milliseconds. */
export async function checkClouds(
  place: ProvidersPlace & { config: Pick<Config, 'baseUrl'> },
): Promise<{ ok: boolean; providers: object[] }> {
  const entries = parseClouds(readProvidersText(place), systemClock);
  const upstream = createUpstream();
  try {
    const kernel = { upstream, clock: systemClock };
    const rows = await Promise.all(
      entries.map(async (entry) => {
        const began = systemClock.monotonic();
        const took = (): string => `${Math.round(systemClock.monotonic() - began)} ms`;
        try {
          const type = await openCloud({ kernel, entry, installation: '' }).typeOf('small');
          return { lane: entry.id, ok: true, found: `${entry.kind} has ${type} in ${took()}` };
        } catch (error) {
          return { lane: entry.id, ok: false, found: `${(error as Error).message}, after ${took()}` };
        }
      }),
    );
    if (rows.length > 0 && isOfThisMachine(place.config.baseUrl)) {
      const found = `machines cannot reach ${place.config.baseUrl}: it has to be an address of the platform that they reach`;
      rows.push({ lane: 'SVC_BASE_URL', ok: false, found });
    }
    return { ok: rows.every(({ ok }) => ok), providers: rows };
  } finally {
    await upstream.close();
  }
}

/** Whether a URL leads to the machine itself, whoever asks. */
const isOfThisMachine = (url: string): boolean =>
  /^(?:localhost|127\.[\d.]+|\[::1\]|0\.0\.0\.0)$/.test(new URL(url).hostname);
