import type { JobDefinition } from '../../../kernel/feature.ts';
import { sweepGuesses } from './guesses.sql.ts';
import { forgetLinks } from './links.sql.ts';
import { forgetLogins } from './logins.sql.ts';
import { forgetMails } from './mails.sql.ts';
import { forgetChallenges } from './passkeys.sql.ts';

/** About 30 MB. A try costs a run of argon2, so an hour of them does not fill it. */
const mostGuesses = 200_000;

/** Every minute: forgets challenges and guesses that are over, links that are over, mails of past days, logins unseen for 30 days. */
export const sweepPeople: JobDefinition = {
  name: 'auth.sweep',
  cron: '* * * * *',
  retries: 0,
  async run({ background, clock }) {
    await forgetChallenges(background, clock);
    await sweepGuesses(background, clock, mostGuesses);
    await forgetLinks(background, clock);
    await forgetMails(background, clock);
    await forgetLogins(background, clock);
  },
};
