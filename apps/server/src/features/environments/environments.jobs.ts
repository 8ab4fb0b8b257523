import type { JobDefinition } from '../../kernel/feature.ts';
import { sweepEvents } from './environments.events.sql.ts';
import { sweepDestroyed } from './environments.sql.ts';

/** Every night: forgets what was destroyed 90 days ago, and events past their number or their 400 days. */
export const sweepEnvironments: JobDefinition = {
  name: 'environments.sweep',
  cron: '41 3 * * *',
  async run({ background, clock }) {
    await sweepDestroyed(background, clock);
    await sweepEvents(background, clock);
  },
};
