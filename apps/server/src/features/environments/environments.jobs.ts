import type { JobDefinition } from '../../kernel/feature.ts';
import { sweepEvents } from './environments.events.sql.ts';
import { sweepHours } from './hours/hours.sql.ts';
import { sweepDestroyed } from './environments.sql.ts';
import { sweepInvitations } from './people/invitations.sql.ts';

/**
 * Every night: forgets what was destroyed 90 days ago, events past their number or their 400 days, hours that were paid then, and
 * invitations of a month ago.
 */
export const sweepEnvironments: JobDefinition = {
  name: 'environments.sweep',
  cron: '41 3 * * *',
  async run({ background, clock }) {
    await sweepDestroyed(background, clock);
    await sweepEvents(background, clock);
    await sweepHours(background, clock);
    await sweepInvitations(background, clock);
  },
};
