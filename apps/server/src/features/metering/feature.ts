import { meteringManifest } from './index.ts';
import type { Feature } from '../../kernel/feature.ts';
import { startLoop } from '../../kernel/work/loop.ts';
import { settleAll } from './metering.settle.ts';
import { continueSpans, deleteOldSpans, holdSpans } from './metering.sql.ts';

const settleEveryMs = 60_000;
/** A suspended account costs nothing 10 s later. */
const holdEveryMs = 5_000;

/** Settles what is due every minute, and keeps the snapshots of suspended accounts free. */
export const meteringFeature: Feature = {
  ...meteringManifest,
  operations: {},
  jobs: [
    {
      name: 'metering.sweep',
      cron: '17 3 * * *',
      retries: 0,
      run: ({ sql, clock }) => deleteOldSpans(sql, clock),
    },
  ],
  start(kernel, { works }) {
    if (!works) return Promise.resolve({});
    const settle = startLoop(kernel, {
      name: 'metering.settle',
      everyMs: settleEveryMs,
      work: () => settleAll(kernel),
    });
    const hold = startLoop(kernel, {
      name: 'metering.hold',
      everyMs: holdEveryMs,
      async work() {
        await holdSpans(kernel.sql, kernel.clock);
        await continueSpans(kernel.sql, kernel.clock);
      },
    });
    return Promise.resolve({
      async stop() {
        await Promise.all([settle.stop(), hold.stop()]);
      },
    });
  },
};
