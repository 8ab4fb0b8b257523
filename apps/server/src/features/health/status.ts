import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { readProviders } from './health.jobs.ts';
import { aliases } from './health.rules.ts';
import { providerHealth } from './health.sql.ts';

/** A provider that was never probed counts as healthy: nothing speaks against it. */
export const status = operation(contract.health.status, async (context) => {
  const providers = await readProviders(context.kernel).catch(() => undefined);
  const health = providers?.length ? await providerHealth(context.db) : new Map<string, boolean>();
  return {
    ok: providers !== undefined,
    aliases,
    providers: (providers ?? []).map(({ id, kind, label }) => ({ id, kind, label, healthy: health.get(id) ?? true })),
  };
});
