import { type Db, type Fragment, nowOf, type Time } from '../../../kernel/db/db.ts';
import type { Quota } from '../../../kernel/records/quotas.ts';

/** Minutes of recordings in the calendar month (UTC). */
export const recordingQuota: Quota = {
  name: 'recording_ms',
  what: 'milliseconds of recordings a month',
  remedy: 'wait for the next month, or ask the operator for more',
  resets: 'month',
  async count(db, accountId) {
    const { used_ms: used, reserved_ms: reserved } = await chargesOf(db, accountId);
    return used + reserved;
  },
};

/** The minutes of an account in the month. */
export interface Charges {
  period_start: string;
  period_end: string;
  used_ms: number;
  reserved_ms: number;
  recordings: number;
}

/** Those of this month, on the database's clock. */
export async function chargesOf(db: Db, accountId: string): Promise<Charges> {
  const [row] = await db<Charges[]>`
    select date_trunc('month', now(), 'UTC') as period_start,
      date_trunc('month', now(), 'UTC') + interval '1 month' as period_end,
      coalesce(sum(ms) filter (where charged_at is not null), 0)::float8 as used_ms,
      coalesce(sum(ms) filter (where charged_at is null), 0)::float8 as reserved_ms,
      count(*)::int as recordings
    from transcripts.charges where account_id = ${accountId} and reserved_at >= date_trunc('month', now(), 'UTC')`;
  return row as Charges;
}

/** Reserves minutes; those of a recording count once. */
export async function reserve(
  db: Db,
  time: Time,
  { transcriptId, accountId, ms }: { transcriptId: string; accountId: string; ms: number },
): Promise<void> {
  await db`
    insert into transcripts.charges (transcript_id, account_id, ms, reserved_at)
    values (${transcriptId}, ${accountId}, ${ms}, ${nowOf(db, time)}) on conflict do nothing`;
}

/** Whether the minutes of a recording are reserved or used. */
export async function isReserved(db: Db, transcriptId: string): Promise<boolean> {
  const [row] = await db`select from transcripts.charges where transcript_id = ${transcriptId}`;
  return row !== undefined;
}

/** Says that reserved minutes are used. */
export async function markCharged(db: Db, now: Fragment | string, transcriptId: string): Promise<void> {
  await db`
    update transcripts.charges set charged_at = ${now} where transcript_id = ${transcriptId} and charged_at is null`;
}

/** Gives reserved minutes back. */
export async function deleteReserve(db: Db, transcriptId: string): Promise<void> {
  await db`delete from transcripts.charges where transcript_id = ${transcriptId} and charged_at is null`;
}

/** Forgets what was used in months that are long over. */
export async function sweepCharges(db: Db): Promise<void> {
  await db`delete from transcripts.charges where reserved_at < now() - interval '400 days'`;
}
