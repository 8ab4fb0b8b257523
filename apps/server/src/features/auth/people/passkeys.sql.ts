import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { countHeld, makeRoom } from './room.sql.ts';
import type { Quota } from '../../../kernel/records/quotas.ts';

/** A passkey as it is listed. */
export interface PasskeyRow {
  id: string;
  name: string;
  /** It is also elsewhere, such as in a cloud of its maker: it outlives the device. */
  backed_up: boolean;
  transports: string[];
  created_at: string;
  last_used_at: string | null;
}

/** A passkey as it is verified. */
export interface PasskeyKeyRow {
  id: string;
  account_id: string;
  credential_id: Buffer;
  public_key: Buffer;
  counter: number;
  transports: string[];
  /** Its account is neither suspended nor being deleted. */
  may_sign_in: boolean;
}

/** Challenges of all people that wait for their answer; each is for five minutes. */
const mostChallenges = 100_000;

/** Keeps a challenge for five minutes; where too many wait, the network that asked for most makes room. */
export async function insertChallenge(
  db: Db,
  time: Time,
  one: { hash: Buffer; purpose: 'register' | 'prove'; accountId: string | null; network: string | null },
): Promise<void> {
  const now = nowOf(db, time);
  const waiting = {
    table: db`auth.challenges`,
    held: db`expires_at > ${now}`,
    network: db`network`,
    since: db`expires_at`,
  };
  if ((await countHeld(db, waiting, mostChallenges)) >= mostChallenges)
    await makeRoom(db, waiting, mostChallenges / 100);
  await db`
    insert into auth.challenges (hash, purpose, account_id, network, expires_at)
    values (${one.hash}, ${one.purpose}, ${one.accountId}::uuid, ${one.network}, ${now} + interval '5 minutes')`;
}

/** Takes a challenge, which is then gone; false when there is none for this purpose and account. */
export async function takeChallenge(
  db: Db,
  time: Time,
  one: { hash: Buffer; purpose: 'register' | 'prove'; accountId: string | null },
): Promise<boolean> {
  const rows = await db`
    delete from auth.challenges where hash = ${one.hash} and purpose = ${one.purpose}
      and account_id is not distinct from ${one.accountId}::uuid and expires_at > ${nowOf(db, time)} returning 1`;
  return rows.length > 0;
}

/** Deletes challenges that are over. */
export async function forgetChallenges(db: Db, time: Time): Promise<void> {
  await db`delete from auth.challenges where expires_at <= ${nowOf(db, time)}`;
}

/** Inserts a passkey; undefined when it is known already, of whichever account. */
export async function insertPasskey(
  db: Db,
  time: Time,
  one: Pick<PasskeyKeyRow, 'account_id' | 'credential_id' | 'public_key' | 'counter' | 'transports'> & {
    backed_up: boolean;
    name: string;
    rp_id: string;
  },
): Promise<PasskeyRow | undefined> {
  const [row] = await db<PasskeyRow[]>`
    insert into auth.passkeys
      (account_id, credential_id, public_key, counter, backed_up, transports, name, rp_id, created_at)
    select id, ${one.credential_id}, ${one.public_key}, ${one.counter}, ${one.backed_up}, ${one.transports}, ${one.name},
      ${one.rp_id}, ${nowOf(db, time)}
    from accounts.standing_view where id = ${one.account_id} and not deleting
    on conflict (credential_id) do nothing
    returning id, name, backed_up, transports, created_at, last_used_at`;
  return row;
}

/** Passkeys of an account, the oldest first. */
export async function listPasskeys(db: Db, accountId: string): Promise<(PasskeyRow & { credential_id: Buffer })[]> {
  return db<(PasskeyRow & { credential_id: Buffer })[]>`
    select id, name, backed_up, transports, created_at, last_used_at, credential_id from auth.passkeys
    where account_id = ${accountId} order by created_at, id limit 1000`;
}

/** The passkey with the id that its authenticator gave. */
export async function findPasskey(db: Db, credentialId: Buffer): Promise<PasskeyKeyRow | undefined> {
  const [row] = await db<PasskeyKeyRow[]>`
    select k.id, k.account_id, k.credential_id, k.public_key, k.counter, k.transports,
      not s.suspended and not s.deleting as may_sign_in
    from auth.passkeys k join accounts.standing_view s on s.id = k.account_id where k.credential_id = ${credentialId}`;
  return row;
}

/** Notes a use; false when its counter did not go on since it was read: another use came before. */
export async function usePasskey(
  db: Db,
  time: Time,
  { id, counter, backedUp }: { id: string; counter: number; backedUp: boolean },
): Promise<boolean> {
  const { count } = await db`
    update auth.passkeys set counter = ${counter}, backed_up = ${backedUp}, last_used_at = ${nowOf(db, time)}
    where id = ${id} and (counter < ${counter} or (counter = 0 and ${counter} = 0))`;
  return count > 0;
}

/** Changes the name of a passkey; false when the account has no such one. */
export async function updatePasskeyName(db: Db, accountId: string, id: string, name: string): Promise<boolean> {
  const { count } = await db`update auth.passkeys set name = ${name} where id = ${id} and account_id = ${accountId}`;
  return count > 0;
}

/** Removes a passkey; false when the account has no such one. */
export async function deletePasskey(db: Db, accountId: string, id: string): Promise<boolean> {
  return (await db`delete from auth.passkeys where id = ${id} and account_id = ${accountId}`).count > 0;
}

/** How many passkeys were made at another host than `rpId`: no browser offers them there. */
export async function countPasskeysElsewhere(db: Db, rpId: string): Promise<number> {
  const [row] = await db<{ n: number }[]>`select count(*)::int as n from auth.passkeys where rp_id <> ${rpId}`;
  return row?.n ?? 0;
}

/** Limit of the passkeys of an account. */
export const passkeysQuota: Quota = {
  name: 'passkeys',
  remedy: 'remove one',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from auth.passkeys where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};
