import type { JobDefinition } from './feature.ts';

/** Every minute: forgets stored responses past their 24 h, and rate windows past their minute. */
export const sweepKernel: JobDefinition = {
  name: 'kernel.sweep',
  cron: '* * * * *',
  retries: 0,
  async run({ sql }) {
    await sql`delete from kernel.idempotency where expires_at < now()`;
    await sql`delete from kernel.idempotency_use where day < (now() at time zone 'UTC')::date - 1`;
    await sql`delete from kernel.rate_windows where starts_at < now() - interval '5 minutes'`;
  },
};
