import { contract } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import { operation } from '../../kernel/feature.ts';
import { lanesOff, readProviders } from './health.jobs.ts';
import { aliases } from './health.rules.ts';
import { providerHealth } from './health.sql.ts';

/** The results of the last probes; unknown while the database is away. */
async function lastKnown(context: Context): Promise<Map<string, boolean>> {
  try {
    return await providerHealth(context.db);
  } catch (err) {
    context.log.warn({ err }, 'the health of providers cannot be read');
    return new Map();
  }
}

/** A provider that was never probed counts as healthy: nothing speaks against it. */
export const status = operation(contract.health.status, async (context) => {
  const providers = await Promise.try(readProviders, context.kernel).catch(() => undefined);
  const health = providers?.length ? await lastKnown(context) : new Map<string, boolean>();
  const off = lanesOff(context.kernel);
  return {
    ok: providers !== undefined,
    aliases,
    providers: (providers ?? []).map(({ id, kind, label }) => ({
      id,
      kind,
      label,
      healthy: !off.has(id) && (health.get(id) ?? true),
    })),
    ...(providers?.length === 0 && { message: 'no model provider is set up; add one with: ./svc providers add' }),
  };
});
