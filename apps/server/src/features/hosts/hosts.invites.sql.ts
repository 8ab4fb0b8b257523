import type { Clock } from '../../kernel/base/clock.ts';
import { type Db, nowOf } from '../../kernel/db/db.ts';

/** A code that is open, without its text. */
interface InviteRow {
  id: string;
  account_id: string;
  key_id: string;
  name: string | null;
  /** The only device that may use it, which it takes over. */
  device_id: string | null;
}

const seconds = 600;

/** Stores a code, and forgets those of the account that are over; answers when it ends. */
export async function insertInvite(
  db: Db,
  time: Pick<Clock, 'instant'>,
  invite: { accountId: string; keyId: string; name: string | null; deviceId: string | null; codeHash: Buffer },
): Promise<string> {
  const { accountId, keyId, name, deviceId, codeHash } = invite;
  await db`delete from hosts.invites where account_id = ${accountId} and expires_at <= ${nowOf(db, time)}`;
  const [row] = await db<{ expires_at: string }[]>`
    insert into hosts.invites (account_id, key_id, name, device_id, code_hash, expires_at)
    values (${accountId}, ${keyId}, ${name}, ${deviceId}, ${codeHash}, ${nowOf(db, time)} + make_interval(secs => ${seconds}))
    returning expires_at`;
  return (row as { expires_at: string }).expires_at;
}

/** How many codes of the account are open. Those that make one at the same time go one after the other. */
export async function countInvites(db: Db, time: Pick<Clock, 'instant'>, accountId: string): Promise<number> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`invites:${accountId}`}, 0))`;
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n from hosts.invites where account_id = ${accountId} and expires_at > ${nowOf(db, time)}`;
  return row?.n ?? 0;
}

/** Takes a code: nobody can take it after this. Undefined when it is used, over, or none. */
export async function takeInvite(
  db: Db,
  time: Pick<Clock, 'instant'>,
  codeHash: Buffer,
): Promise<InviteRow | undefined> {
  const [row] = await db<InviteRow[]>`
    delete from hosts.invites where code_hash = ${codeHash} and expires_at > ${nowOf(db, time)}
    returning id, account_id, key_id, name, device_id`;
  return row;
}
