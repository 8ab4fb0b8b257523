import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/** What a ticket lets in: one browser, as whoever made it. */
export interface Ticket {
  environmentId: string;
  port: number;
  accountId: string;
  credentialId: string;
}

/** An account has so many that are valid; of more, the oldest goes. */
const mostOfAccount = 100;

/** Keeps the hash of a ticket; answers when it ends. */
export async function insertTicket(
  db: Db,
  time: Time,
  { environmentId, port, accountId, credentialId }: Ticket,
  { hash, seconds }: { hash: Buffer; seconds: number },
): Promise<string> {
  const now = nowOf(db, time);
  await db`
    delete from environments.tickets where account_id = ${accountId} and (expires_at < ${now} or hash in (
      select t.hash from environments.tickets t where t.account_id = ${accountId}
      order by t.expires_at desc offset ${mostOfAccount - 1}))`;
  const [row] = await db<{ expires_at: string }[]>`
    insert into environments.tickets (hash, environment_id, port, account_id, key_id, expires_at)
    values (${hash}, ${environmentId}, ${port}, ${accountId}, ${credentialId},
      date_trunc('milliseconds', ${now}) + make_interval(secs => ${seconds}))
    returning expires_at`;
  return (row as { expires_at: string }).expires_at;
}

/** Takes a ticket, which is then gone; undefined when it is unknown, over, or of another port. */
export async function takeTicket(
  db: Db,
  time: Time,
  { hash, slug, port }: { hash: Buffer; slug: string; port: number },
): Promise<Pick<Ticket, 'accountId' | 'credentialId'> | undefined> {
  const [row] = await db<{ account_id: string; key_id: string }[]>`
    delete from environments.tickets t using environments.environments e
    where t.hash = ${hash} and e.id = t.environment_id and e.slug = ${slug} and t.port = ${port}
      and t.expires_at > ${nowOf(db, time)}
    returning t.account_id, t.key_id`;
  return row && { accountId: row.account_id, credentialId: row.key_id };
}
