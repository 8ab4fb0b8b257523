import type { Sealed } from '../../../kernel/base/crypto.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { countHeld, makeRoom } from '../people/room.sql.ts';
import { hubClient } from './clients.ts';

/** Payloads of what the identity provider keeps. */
export const sealedRecords: Sealed = { purpose: 'auth-record', table: 'auth.records', column: 'payload' };

/** Kind of a record and the HMAC of its id. */
export interface RecordKey {
  model: string;
  idHash: Buffer;
}

/** A record as it is stored. */
export interface RecordRow {
  payload: Buffer;
  consumed_at: string | null;
}

/** Fields of a record that queries ask for. */
export interface NewRecord extends RecordKey {
  accountId: string | null;
  clientId: string | null;
  grantId: string | null;
  uid: string | null;
  userCodeHash: Buffer | null;
  payload: Buffer;
  /** The network that began it, of what strangers begin. */
  network: string | null;
  /** Seconds from now; null: without an end. */
  expiresIn: number | null;
}

/** Kinds that are worth nothing once their grant is gone. */
const ofGrants = ['AccessToken', 'RefreshToken', 'AuthorizationCode'];

/**
 * Writes a record; answers false when its grant was revoked meanwhile, or it is a proof that was used. A code that two exchange at once revokes its grant, and
 * the tokens of the first may come after that.
 */
export async function writeRecord(db: Db, record: NewRecord): Promise<boolean> {
  const { model, idHash, accountId, clientId, grantId, uid, userCodeHash, payload, network, expiresIn } = record;
  const needsGrant = grantId !== null && ofGrants.includes(model);
  const rows = await db`
    insert into auth.records as r (model, id_hash, account_id, client_id, grant_id, uid, user_code_hash, payload, address, expires_at)
    select ${model}, ${idHash}::bytea, ${accountId}::uuid, ${clientId}, ${grantId}, ${uid}, ${userCodeHash}::bytea,
      ${payload}::bytea, ${network}, now() + make_interval(secs => ${expiresIn})
    where not ${needsGrant} or exists (select from auth.records g where g.model = 'Grant' and g.grant_id = ${grantId})
    on conflict (model, id_hash) do update set account_id = excluded.account_id, grant_id = excluded.grant_id,
      uid = excluded.uid, payload = excluded.payload, expires_at = excluded.expires_at
    -- A proof of an app that is kept was used: of two at once one counts. A session that was ended while a request had it
    -- stays ended: the provider's library writes a session at the end of each request.
    where r.model <> 'ReplayDetection' and (r.model <> 'Session' or r.expires_at > now())
    returning 1`;
  return rows.length > 0;
}

/** A record that has not ended. */
export async function findRecord(db: Db, { model, idHash }: RecordKey): Promise<RecordRow | undefined> {
  const [row] = await db<RecordRow[]>`
    select payload, consumed_at from auth.records
    where model = ${model} and id_hash = ${idHash} and (expires_at is null or expires_at > now())`;
  return row;
}

/** The same by the name that the provider gives a session. */
export async function findRecordByUid(db: Db, model: string, uid: string): Promise<RecordRow | undefined> {
  const [row] = await db<RecordRow[]>`
    select payload, consumed_at from auth.records where model = ${model} and uid = ${uid} and expires_at > now()`;
  return row;
}

/** The same by the HMAC of the code that a person types. */
export async function findRecordByUserCode(db: Db, userCodeHash: Buffer): Promise<RecordRow | undefined> {
  const [row] = await db<RecordRow[]>`
    select payload, consumed_at from auth.records where user_code_hash = ${userCodeHash} and expires_at > now()`;
  return row;
}

/** Deletes a record; a session is kept as one that is over, see `writeRecord`. */
export async function deleteRecord(db: Db, { model, idHash }: RecordKey): Promise<void> {
  if (model === 'Session')
    await db`update auth.records set expires_at = now() where model = ${model} and id_hash = ${idHash} and expires_at > now()`;
  else await db`delete from auth.records where model = ${model} and id_hash = ${idHash}`;
}

/** Deletes a grant with every code and token of it; false when nothing was left of it. */
export async function deleteGrant(db: Db, grantId: string): Promise<boolean> {
  return (await db`delete from auth.records where grant_id = ${grantId}`).count > 0;
}

/**
 * Deletes the oldest rows beyond `most` of an account's sessions or of one grant's refresh tokens, and of its grants to one app
 * those that were not used for longest: each refresh makes tokens.
 */
export async function trimRecords(
  db: Db,
  of: { model: string; accountId: string; clientId: string | null; grantId: string | null },
  most: number,
): Promise<void> {
  const { model, accountId, clientId, grantId } = of;
  await db`
    with gone as (
      select model, id_hash, grant_id from auth.records g
      where account_id = ${accountId} and model = ${model}
        and (model = 'Session' or client_id is not distinct from ${clientId})
        and (model <> 'RefreshToken' or grant_id = ${grantId})
      order by case when model = 'Grant'
          then (select max(used.created_at) from auth.records used where used.grant_id = g.grant_id) else created_at end desc,
        id_hash offset ${most})
    delete from auth.records r using gone g
    where (r.model, r.id_hash) = (g.model, g.id_hash) or (g.model = 'Grant' and r.grant_id = g.grant_id)`;
}

/** Deletes what an app holds of an account. */
export async function deleteGrantsOf(db: Db, accountId: string, clientId: string): Promise<void> {
  await db`
    delete from auth.records
    where account_id = ${accountId} and client_id = ${clientId} and model not in ('Session', 'Interaction')`;
}

/**
 * Ends the provider's own sessions of an account, and what is on its way to sign a browser in: codes for the hub, and phones that
 * were let in and did not come back yet. Whoever signs in next proves who they are.
 */
export async function deleteProviderSessions(db: Db, accountId: string): Promise<void> {
  await db`
    update auth.records set expires_at = now()
    where account_id = ${accountId} and model = 'Session' and expires_at > now()`;
  await db`
    delete from auth.records where account_id = ${accountId}
      and (model = 'Interaction' or (model = 'AuthorizationCode' and client_id = ${hubClient}))`;
  await db`
    update auth.links set ended_at = now()
    where account_id = ${accountId} and purpose = 'phone' and used_at is null and ended_at is null`;
}

/** Ends a session of an account that has not ended, and answers it with the seconds that it had left. */
export async function takeSession(
  db: Db,
  { accountId, idHash }: { accountId: string; idHash: Buffer },
): Promise<{ payload: Buffer; seconds: number } | undefined> {
  const [row] = await db<{ payload: Buffer; seconds: number }[]>`
    with own as (
      select model, id_hash, ceil(extract(epoch from expires_at - now()))::int as seconds from auth.records
      where model = 'Session' and id_hash = ${idHash} and account_id = ${accountId} and expires_at > now() for update)
    update auth.records r set expires_at = now() from own
    where (r.model, r.id_hash) = (own.model, own.id_hash) returning r.payload, own.seconds`;
  return row;
}

/** Deletes what has ended; at most so many, so that no statement is long. */
export async function sweepRecords(db: Db, most: number): Promise<number> {
  const { count } = await db`
    delete from auth.records where (model, id_hash) in (
      select model, id_hash from auth.records
      where expires_at < now() and (model <> 'Session' or expires_at < now() - interval '10 minutes') limit ${most})`;
  return count;
}

/** Interactions and codes of devices that are under way, and proofs of apps that count no second time. */
const begun = (db: Db) => ({
  table: db`auth.records`,
  held: db`model in ('Interaction', 'DeviceCode', 'ReplayDetection') and expires_at > now()`,
  network: db`address`,
  since: db`created_at`,
});

/** So many of them are kept. */
export const mostBegun = 100_000;

/** Makes room for one more of them, where `most` are under way. */
export async function makeRoomForBegun(db: Db, most: number): Promise<void> {
  if ((await countHeld(db, begun(db), most)) >= most) await makeRoom(db, begun(db), Math.ceil(most / 100));
}
