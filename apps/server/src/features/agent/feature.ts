import { agentManifest } from './index.ts';
import type { Feature } from '../../kernel/feature.ts';
import { deleteOldSessions } from './agent.sql.ts';

/** Tools of the platform's own for models. It has no routes of its own. */
export const agentFeature: Feature = {
  ...agentManifest,
  operations: {},
  jobs: [
    { name: 'agent.sweep', cron: '*/10 * * * *', retries: 0, run: ({ sql, clock }) => deleteOldSessions(sql, clock) },
  ],
};
