import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';

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
