import { inferenceManifest } from './index.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Inference } from './inference.dispatch.ts';
import { deleteOldRequests, deleteOldStored } from './inference.sql.ts';

/** How long a shutdown waits for answers that are under way. */
const drainMs = 5_000;

/** The base of every route of models: lanes, failover, streams, cost. It has no routes of its own. */
export const inferenceFeature = (inference: Inference): Feature => ({
  ...inferenceManifest,
  operations: {},
  jobs: [
    {
      name: 'inference.sweep',
      cron: '23 3 * * *',
      retries: 0,
      async run({ sql, clock, config }) {
        await deleteOldRequests(sql, clock, config.usageDays);
        await deleteOldStored(sql, clock);
      },
    },
  ],
  start(_kernel, { serves }) {
    if (!serves) return Promise.resolve({});
    const stop = inference.lanes.start();
    return Promise.resolve({
      drain: () => inference.drain(drainMs),
      async stop() {
        stop();
        await inference.meter.close();
      },
    });
  },
});
