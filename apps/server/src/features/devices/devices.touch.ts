import type { Kernel } from '../../kernel/kernel.ts';
import type { Gate } from '../../kernel/mount/checks.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { devicesQuota, hasDevice, upsertDevice } from './devices.sql.ts';

/** `last_seen` is at most this much behind. */
const freshMs = 30_000;
const mostCached = 50_000;

/**
 * Registers a device on its first use and refreshes it on later ones. The first use and a changed name wait for the
 * database; a repeat within 30 s costs nothing.
 */
export function createDeviceTouch(kernel: Pick<Kernel, 'sql' | 'clock' | 'log' | 'config'>): Gate['touchDevice'] {
  const seen = new Map<string, { name: string | undefined; platform: string | undefined; until: number }>();
  return (accountId, device) => {
    const id = `${accountId}:${device.id}`;
    const known = seen.get(id);
    const now = kernel.clock.monotonic();
    const same =
      known && (device.name ?? known.name) === known.name && (device.platform ?? known.platform) === known.platform;
    if (same && known.until > now) return undefined;
    const remember = (): void => {
      if (seen.size >= mostCached) seen.clear();
      seen.set(id, {
        name: device.name ?? known?.name,
        platform: device.platform ?? known?.platform,
        until: now + freshMs,
      });
    };
    if (!known) return register(kernel, accountId, device).then(remember);
    if (!same) return upsertDevice(kernel.sql, accountId, device).then(remember);
    remember();
    upsertDevice(kernel.sql, accountId, device).catch((err: unknown) => {
      kernel.log.warn({ err }, 'last sight of a device was not noted');
    });
    return undefined;
  };
}

/** Of a device that this process has not seen: it may be new, and one too many. */
async function register(
  { sql, config }: Pick<Kernel, 'sql' | 'config'>,
  accountId: string,
  device: { id: string; name?: string; platform?: string },
): Promise<void> {
  if (await hasDevice(sql, accountId, device.id)) return upsertDevice(sql, accountId, device);
  await inTransaction(sql, async (tx) => {
    await checkQuota(config, tx, devicesQuota, accountId);
    await upsertDevice(tx, accountId, device);
  });
}
