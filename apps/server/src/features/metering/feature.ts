import type { Feature } from '../../kernel/feature.ts';
import { settleAll } from './metering.settle.ts';
import { deleteOldSpans } from './metering.sql.ts';

const settleEveryMs = 60_000;

/** Settles what is due every minute. */
export const meteringFeature: Feature = {
  name: 'metering',
  operations: {},
  jobs: [
    {
      name: 'metering.sweep',
      cron: '17 3 * * *',
      retries: 0,
      run: ({ sql, clock }) => deleteOldSpans(sql, clock),
    },
  ],
  start(kernel) {
    let running: Promise<void> = Promise.resolve();
    let busy = false;
    const stop = kernel.clock.every(settleEveryMs, () => {
      if (busy) return;
      busy = true;
      running = settleAll(kernel)
        .catch((err: unknown) => kernel.log.warn({ err }, 'buckets were not settled; they are tried again'))
        .finally(() => {
          busy = false;
        });
    });
    return Promise.resolve({
      async stop() {
        stop();
        await running;
      },
    });
  },
};
