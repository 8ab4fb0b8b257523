import { nowOf } from './db/db.ts';
import type { JobDefinition } from './feature.ts';
import { tidyFeed } from './streams/feed.ts';

/** Every minute: forgets stored responses past their 24 h, and rate windows past their minute. */
export const sweepKernel: JobDefinition = {
  name: 'kernel.sweep',
  cron: '* * * * *',
  retries: 0,
  async run({ sql, clock }) {
    await sql`delete from kernel.idempotency where expires_at < now()`;
    await sql`delete from kernel.idempotency_use where day < (now() at time zone 'UTC')::date - 1`;
    await sql`delete from kernel.budgets where at < ${nowOf(sql, clock)} - interval '2 days'`;
    await sql`delete from kernel.rate_windows where starts_at < ${nowOf(sql, clock)} - interval '5 minutes'`;
  },
};

/** Every night: prepares the months that usage is written to, and drops those past their days. */
export const sweepUsage: JobDefinition = {
  name: 'kernel.sweepUsage',
  cron: '17 3 * * *',
  async run({ sql, clock, config }) {
    const now = nowOf(sql, clock);
    await sql`select kernel.keep_usage_months(${now}, ${now} - make_interval(days => ${config.usageDays}))`;
    await sql`delete from kernel.usage_counts where minute < ${now} - make_interval(days => ${config.usageDays})`;
  },
};

/** Every hour: prepares the days that changes are written to, and drops those past their week or their account's bound. */
export const sweepFeed: JobDefinition = {
  name: 'kernel.sweepFeed',
  cron: '23 * * * *',
  run: ({ background }) => tidyFeed(background),
};
