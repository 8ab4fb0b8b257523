import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/** Holds until the transaction ends: nothing else is reserved for the account. */
export async function lockSpend(db: Db, accountId: string): Promise<void> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`spend:${accountId}`}, 0))`;
}

/** The spend that is left for a key, in micro-USD; without a cap infinite. */
export async function spendLeft(db: Db, time: Time, accountId: string, keyId: string): Promise<number> {
  const [row] = await db<{ left: number | null }[]>`
    select keys.spend_left(${accountId}, ${keyId}, ${nowOf(db, time)}) as left`;
  return row?.left ?? Number.POSITIVE_INFINITY;
}

/** Reserves an amount; answers the reservation's id. */
export async function insertReservation(
  db: Db,
  time: Time,
  reservation: { accountId: string; keyId: string; costMicroUsd: number; leaseMs: number },
): Promise<string> {
  const { accountId, keyId, costMicroUsd, leaseMs } = reservation;
  const [row] = await db<{ id: string }[]>`
    insert into keys.reservations (account_id, key_id, cost_micro_usd, lease_until)
    values (${accountId}, ${keyId}, ${costMicroUsd}, ${nowOf(db, time)} + make_interval(secs => ${leaseMs / 1000}))
    returning id`;
  return row?.id ?? '';
}

/** Makes a reservation another amount. */
export async function setReservation(db: Db, id: string, costMicroUsd: number): Promise<void> {
  await db`update keys.reservations set cost_micro_usd = ${costMicroUsd} where id = ${id}`;
}

/** Keeps reservations alive. */
export async function renewReservations(db: Db, time: Time, ids: string[], leaseMs: number): Promise<void> {
  await db`
    update keys.reservations set lease_until = ${nowOf(db, time)} + make_interval(secs => ${leaseMs / 1000})
    where id = any(${ids})`;
}

/** Ends a reservation. */
export async function deleteReservation(db: Db, id: string): Promise<void> {
  await db`delete from keys.reservations where id = ${id}`;
}

/** Ends every reservation: the requests that made them are gone. */
export async function deleteReservations(db: Db): Promise<void> {
  await db`delete from keys.reservations`;
}

/** Deletes what gateways left behind that are gone. */
export async function sweepReservations(db: Db, time: Time): Promise<void> {
  await db`delete from keys.reservations where lease_until < ${nowOf(db, time)} - interval '1 minute'`;
}
