import { ConfigError } from '../../config.ts';
import { type ProvidersPlace, providersPath, readProvidersText } from '../../kernel/outside/providers.ts';
import type { JobDefinition } from '../../kernel/feature.ts';
import { findLanesOff } from '../providers/index.ts';
import { type Provider, parseProviders } from './health.rules.ts';
import { storeHealth } from './health.sql.ts';

const probeTimeoutMs = 5_000;

/** Providers of the file as it is now; none when there is no file. Throws when it cannot be used. */
export function readProviders(place: ProvidersPlace): Provider[] {
  const text = readProvidersText(place);
  return text === undefined ? [] : parseProviders(text);
}

/** Ids of lanes that have no key now; the rest of the file is judged elsewhere. */
export function lanesOff(place: ProvidersPlace): Set<string> {
  try {
    return new Set(findLanesOff(place).map(({ id }) => id));
  } catch {
    return new Set();
  }
}

/** Throws `ConfigError` when the providers file cannot be used: a start says so, and does not run without what it names. */
export function checkProviders(place: ProvidersPlace): void {
  try {
    readProviders(place);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(`SVC_PROVIDERS: ${providersPath(place)}: ${code ?? message}`);
  }
}

/** Every minute: a provider that answers HTTP at all, with anything below 500, is healthy. */
export const probeProviders: JobDefinition = {
  name: 'health.probe',
  cron: '* * * * *',
  retries: 0,
  timeoutSeconds: 60,
  async run(kernel) {
    const providers = await Promise.try(readProviders, kernel).catch(() => []);
    await Promise.all(
      providers.map(async ({ id, baseUrl }) => {
        if (baseUrl !== undefined) await storeHealth(kernel.sql, id, await answers(baseUrl));
      }),
    );
  },
};

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(probeTimeoutMs) });
    await response.body?.cancel();
    return response.status < 500;
  } catch {
    return false;
  }
}
