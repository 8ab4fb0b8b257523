import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Environments } from '../environments/index.ts';
import { Machines } from './clouds.machines.ts';
import { nodeRoute } from './clouds.node.ts';
import { sweepOrphans } from './clouds.orphans.ts';
import type { Clouds } from './clouds.providers.ts';
import { cloudsManifest } from './index.ts';

/** Machines of environments at providers. */
export function cloudsFeature(
  kernel: Kernel,
  { clouds, environments }: { clouds: Clouds; environments: Environments },
): Feature {
  const machines = new Machines({ ...kernel, clouds, environments });
  return {
    ...cloudsManifest,
    operations: {},
    raw: [nodeRoute],
    jobs: [sweepOrphans(clouds)],
    start(_kernel, { works }) {
      const cancel = clouds.start();
      if (works) machines.start();
      return Promise.resolve({
        async stop() {
          cancel();
          await machines.stop();
        },
      });
    },
  };
}
