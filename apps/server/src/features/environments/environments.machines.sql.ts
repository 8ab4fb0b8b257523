import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import type { EnvironmentRole, EnvironmentRow } from './environments.rows.ts';

/** The key with which an environment's machine serves it. */
interface MachineKey {
  environment_id: string;
  account_id: string;
  key_id: string;
}

/** Remembers the key of an environment's machine. */
export async function putMachineKey(db: Db, one: MachineKey): Promise<void> {
  await db`insert into environments.machine_keys ${db(one)}`;
}

/** Forgets the key of an environment's machine; answers it. */
export async function deleteMachineKey(db: Db, environmentId: string): Promise<MachineKey | undefined> {
  const [row] = await db<MachineKey[]>`
    delete from environments.machine_keys where environment_id = ${environmentId}
    returning environment_id, account_id, key_id`;
  return row;
}

/** The key of an environment's machine that is another account's than the environment is, with its device. */
export async function findStrayKey(
  db: Db,
  environmentId: string,
): Promise<(MachineKey & { owner: string; device_id: string | null }) | undefined> {
  const [row] = await db<(MachineKey & { owner: string; device_id: string | null })[]>`
    select k.environment_id, k.account_id, k.key_id, e.account_id as owner, e.device_id
    from environments.machine_keys k join environments.environments e on e.id = k.environment_id
    where k.environment_id = ${environmentId} and k.account_id <> e.account_id for update of k`;
  return row;
}

/** Says whose the key of an environment's machine is. */
export async function giveMachineKey(db: Db, environmentId: string, accountId: string): Promise<void> {
  await db`update environments.machine_keys set account_id = ${accountId} where environment_id = ${environmentId}`;
}

/** Gives the token that the platform made for an environment's machine to who has the environment. */
export async function giveOwnToken(db: Db, environmentId: string): Promise<void> {
  await db`
    update environments.tokens t set created_by = e.account_id from environments.environments e
    where e.id = t.environment_id and t.environment_id = ${environmentId} and t.key_id is null`;
}

/** Environments that are an account's, or whose machine has a key of it. */
export async function heldBy(db: Db, accountId: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from environments.environments where account_id = ${accountId}
    union select environment_id from environments.machine_keys where account_id = ${accountId} order by 1`;
  return rows.map(({ id }) => id);
}

/** An environment, and what an account has to do with it. */
type ServedRow = Pick<EnvironmentRow, 'state' | 'device_id'> & {
  role: EnvironmentRole | null;
  /** The key of its machine is the account's. */
  has_machine_key: boolean;
};

/** What decides whether a daemon serves an environment; undefined when its account has neither a role nor the machine's key. */
export async function findServed(db: Db, accountId: string, id: string): Promise<ServedRow | undefined> {
  const [row] = await db<ServedRow[]>`
    select e.state, e.device_id, m.role, k.key_id is not null as has_machine_key from environments.environments e
    left join environments.members m on m.environment_id = e.id and m.account_id = ${accountId}
    left join environments.machine_keys k on k.environment_id = e.id and k.account_id = ${accountId}
    where e.id = ${id} and (m.role is not null or k.key_id is not null)`;
  return row;
}

/** Says where an environment's machine is, with nulls that there is none; no event, since nobody did it. */
export async function placeMachine(
  db: Db,
  time: Time,
  environmentId: string,
  { ref, address }: { ref: string | null; address: string | null },
): Promise<void> {
  await db`
    update environments.environments set provider_ref = ${ref}, public_ip = ${address}, updated_at = ${nowOf(db, time)}
    where id = ${environmentId} and (provider_ref, public_ip) is distinct from (${ref}, ${address})`;
}

/** Whether an environment may have a machine at its provider. */
export async function mayHaveMachine(db: Db, environmentId: string): Promise<boolean> {
  return (await db`select from clouds.asked_view where environment_id = ${environmentId}`).length > 0;
}
