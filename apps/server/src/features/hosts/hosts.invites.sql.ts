import type { Sealed } from '../../kernel/base/crypto.ts';
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
  /** The device that used it, the key that it made, and the answer, sealed. */
  used_by: string | null;
  made_key: string | null;
  answer: Buffer | null;
}

/** What codes were exchanged for. */
export const sealedInvites: Sealed = { purpose: 'host-invite', table: 'hosts.invites', column: 'answer' };

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
    select count(*)::int as n from hosts.invites 
    where account_id = ${accountId} and used_by is null and expires_at > ${nowOf(db, time)}`;
  return row?.n ?? 0;
}

/** A code until it ends, used or not, locked until the transaction ends. Undefined when it is over, or none. */
export async function lockInvite(
  db: Db,
  time: Pick<Clock, 'instant'>,
  codeHash: Buffer,
): Promise<InviteRow | undefined> {
  const [row] = await db<InviteRow[]>`
    select id, account_id, key_id, name, device_id, used_by, made_key, answer from hosts.invites
    where code_hash = ${codeHash} and expires_at > ${nowOf(db, time)} for update`;
  return row;
}

/** Notes who used a code and for what: no other device can use it after this. */
export async function useInvite(
  db: Db,
  id: string,
  { deviceId, keyId, answer }: { deviceId: string; keyId: string; answer: Buffer },
): Promise<void> {
  await db`
    update hosts.invites set used_by = ${deviceId}, made_key = ${keyId}, answer = ${answer}::bytea where id = ${id}`;
}

/** Forgets codes that are over, with their answers. */
export async function forgetInvites(db: Db, time: Pick<Clock, 'instant'>): Promise<void> {
  await db`delete from hosts.invites where expires_at <= ${nowOf(db, time)}`;
}
