import type { Feature } from '../../kernel/feature.ts';
import { startLoop } from '../../kernel/loop.ts';
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
  start(kernel, { works }) {
    if (!works) return Promise.resolve({});
    const settle = startLoop(kernel, {
      name: 'metering.settle',
      everyMs: settleEveryMs,
      work: () => settleAll(kernel),
    });
    return Promise.resolve({ stop: () => settle.stop() });
  },
};
