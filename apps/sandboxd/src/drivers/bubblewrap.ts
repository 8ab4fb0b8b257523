import { NodeError } from '../error.ts';
import type { Driver } from './driver.ts';

/** Namespaces through bubblewrap (v1): no snapshots. */
export function createBubblewrap(): Driver {
  const none = async (): Promise<never> => {
    throw new NodeError('not_supported_on_v1', 'v1 sandboxes have no memory snapshots');
  };
  return {
    create: none,
    restore: none,
    checkpoint: none,
    async destroy() {},
    version: async () => 'bwrap',
    async check() {
      throw new NodeError('sandbox_capacity', 'install bubblewrap');
    },
  };
}
