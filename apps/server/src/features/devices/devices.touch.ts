import type { Kernel } from '../../kernel/kernel.ts';
import type { Gate } from '../../kernel/http/mount.ts';
import { upsertDevice } from './devices.sql.ts';

/** `last_seen` is at most this much behind. */
const freshMs = 30_000;
const mostCached = 50_000;

/**
 * Registers a device on its first use and refreshes it on later ones. The first use and a changed name wait for the
 * database; a repeat within 30 s costs nothing.
 */
export function createDeviceTouch(kernel: Pick<Kernel, 'sql' | 'clock' | 'log'>): Gate['touchDevice'] {
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
    if (!same) return upsertDevice(kernel.sql, accountId, device).then(remember);
    remember();
    upsertDevice(kernel.sql, accountId, device).catch((err: unknown) => {
      kernel.log.warn({ err }, 'last sight of a device was not noted');
    });
    return undefined;
  };
}
