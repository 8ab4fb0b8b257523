import type { contract, RouteOutput } from '@svc/contract';
import type { Policy } from '../policy.ts';
import { selectNative, writeCache } from './cache.ts';
import { findInstaller, type InstallOptions } from './install.ts';

/** Keeps the operating system's scheduler, and the cache beside it, as the account's schedules are. */
interface Mirror {
  /** Answers how many schedules are native to this machine; never throws. */
  update(list: RouteOutput<typeof contract.schedules.list>, policy: Policy): Promise<number>;
}

/** Options of a mirror. */
interface MirrorOptions extends InstallOptions {
  deviceId: string;
  log: (text: string) => void;
}

/** Makes the mirror of a daemon. */
export function createMirror(options: MirrorOptions): Mirror {
  let written = '';
  let told = '';
  const tell = (text: string) => {
    if (text !== told) options.log(text);
    told = text;
  };
  return {
    async update(list, policy) {
      const cache = selectNative(list, options.deviceId, policy);
      const ids = cache.schedules.map(({ id }) => id).sort();
      try {
        const text = JSON.stringify(cache);
        // Before the entries: one that is there looks into the cache.
        if (text !== written) await writeCache(options.stateDir, cache);
        written = text;
        const installer = await findInstaller(options);
        await installer?.sync(ids);
        if (!installer && ids.length > 0)
          tell('no systemd and no crontab here: native schedules run with this daemon only');
      } catch (error) {
        tell(`the native schedules were not written: ${firstLine(error)}`);
      }
      return ids.length;
    },
  };
}

function firstLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string };
  return (stderr?.trim() || message || String(error)).split('\n')[0] ?? '';
}
