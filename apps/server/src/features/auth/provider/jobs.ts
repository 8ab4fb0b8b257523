import type { JobDefinition } from '../../../kernel/feature.ts';
import { sweepAnswers } from './exchange.sql.ts';
import { rotateSigningKeys } from './keys.ts';
import { sweepRecords } from './records.sql.ts';

/** Records that are swept in one statement. */
const sweptAtOnce = 5_000;

/** Deletes codes, tokens and sessions that have ended, and answers that are not given again any more. */
export const sweepRecordsJob: JobDefinition = {
  name: 'auth.sweepRecords',
  cron: '* * * * *',
  run: async ({ background, clock }) => {
    while ((await sweepRecords(background, sweptAtOnce)) === sweptAtOnce);
    while ((await sweepAnswers(background, clock, sweptAtOnce)) === sweptAtOnce);
  },
};

/** Has the next signing key sign once the present one is 90 days old. */
export const rotateKeysJob: JobDefinition = {
  name: 'auth.rotateKeys',
  cron: '17 4 * * *',
  run: async (kernel) => void (await rotateSigningKeys(kernel, { force: false })),
};
