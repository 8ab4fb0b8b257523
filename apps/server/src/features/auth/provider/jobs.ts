import type { JobDefinition } from '../../../kernel/feature.ts';
import { rotateSigningKeys } from './keys.ts';
import { sweepRecords } from './records.sql.ts';

/** Records that are swept in one statement. */
const sweptAtOnce = 5_000;

/** Deletes codes, tokens and sessions that have ended. */
export const sweepRecordsJob: JobDefinition = {
  name: 'auth.sweepRecords',
  cron: '* * * * *',
  run: async ({ background }) => {
    while ((await sweepRecords(background, sweptAtOnce)) === sweptAtOnce);
  },
};

/** Has the next signing key sign once the present one is 90 days old. */
export const rotateKeysJob: JobDefinition = {
  name: 'auth.rotateKeys',
  cron: '17 4 * * *',
  run: async (kernel) => void (await rotateSigningKeys(kernel, { force: false })),
};
