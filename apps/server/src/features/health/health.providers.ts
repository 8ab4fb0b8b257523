import type { Kernel } from '../../kernel/kernel.ts';
import { lanesOff, readProviders } from './health.jobs.ts';
import { providerHealth } from './health.sql.ts';

/**
 * Providers with their last known health; undefined when the file cannot be used. One that was never probed counts as healthy:
 * nothing speaks against it.
 */
export async function providersNow(kernel: Kernel) {
  const providers = await Promise.try(readProviders, kernel).catch(() => undefined);
  if (providers === undefined) return undefined;
  const health = providers.length > 0 ? await lastKnown(kernel) : new Map<string, boolean>();
  const off = lanesOff(kernel);
  return providers.map(({ id, kind, label }) => ({
    id,
    kind,
    label,
    healthy: !off.has(id) && (health.get(id) ?? true),
  }));
}

/** The results of the last probes; unknown while the database is away. */
async function lastKnown({ sql, log }: Kernel): Promise<Map<string, boolean>> {
  try {
    return await providerHealth(sql);
  } catch (err) {
    log.warn({ err }, 'the health of providers cannot be read');
    return new Map();
  }
}
