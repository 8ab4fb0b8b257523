import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/** Counts a mail of today (UTC) for a subject; false, and nothing is counted, when it has `most` already. */
export async function countMail(db: Db, time: Time, hash: Buffer, most: number): Promise<boolean> {
  const { count } = await db`
    insert into auth.mails as m (hash, day, sent) values (${hash}, (${nowOf(db, time)} at time zone 'utc')::date, 1)
    on conflict (hash, day) do update set sent = m.sent + 1 where m.sent < ${most}::int`;
  return count > 0;
}

/** Deletes the counts of past days. */
export async function forgetMails(db: Db, time: Time): Promise<void> {
  await db`delete from auth.mails where day < (${nowOf(db, time)} at time zone 'utc')::date`;
}
