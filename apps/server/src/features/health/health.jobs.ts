import { readFile } from 'node:fs/promises';
import type { Kernel } from '../../kernel/kernel.ts';
import type { JobDefinition } from '../../kernel/feature.ts';
import { type Provider, parseProviders } from './health.rules.ts';
import { storeHealth } from './health.sql.ts';

const probeTimeoutMs = 5_000;

/** Providers of the file as it is now; none when there is no file. Throws when it cannot be used. */
export async function readProviders(kernel: Pick<Kernel, 'config'>): Promise<Provider[]> {
  const { providersFile } = kernel.config;
  return providersFile === undefined ? [] : parseProviders(await readFile(providersFile, 'utf8'));
}

/** Every minute: a provider that answers HTTP at all, with anything below 500, is healthy. */
export const probeProviders: JobDefinition = {
  name: 'health.probe',
  cron: '* * * * *',
  retries: 0,
  timeoutSeconds: 60,
  async run(kernel) {
    const providers = await readProviders(kernel).catch(() => []);
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
