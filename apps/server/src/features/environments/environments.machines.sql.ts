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
