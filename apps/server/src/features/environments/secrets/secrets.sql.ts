import type { Db } from '../../../kernel/db/db.ts';

/** A secret as lists show it. */
export interface SecretRow {
  name: string;
  created_by: string | null;
  created_at: string;
  updated_at: string;
}

/** A secret as it is sealed. */
export interface SealedSecret {
  version: number;
  data_key: Buffer;
  value: Buffer;
}

/** Secrets of an environment, by name, without their values. */
export async function secretsOf(db: Db, environmentId: string): Promise<SecretRow[]> {
  return db<SecretRow[]>`
    select name, created_by, created_at, updated_at from environments.secrets
    where environment_id = ${environmentId} order by name`;
}

/** The version of a secret; undefined when there is none. */
export async function versionOf(db: Db, environmentId: string, name: string): Promise<number | undefined> {
  const [row] = await db<{ version: number }[]>`
    select version from environments.secrets where environment_id = ${environmentId} and name = ${name}`;
  return row?.version;
}

/** Keeps a secret, or replaces it. */
export async function putSecret(
  db: Db,
  now: string,
  of: { environmentId: string; name: string; accountId: string },
  { version, data_key: dataKey, value }: SealedSecret,
): Promise<void> {
  await db`
    insert into environments.secrets (environment_id, name, version, data_key, value, created_by, created_at, updated_at)
    values (${of.environmentId}, ${of.name}, ${version}, ${dataKey}, ${value}, ${of.accountId}, ${now}, ${now})
    on conflict (environment_id, name) do update set
      version = excluded.version, data_key = excluded.data_key, value = excluded.value, updated_at = excluded.updated_at`;
}

/** Deletes a secret; false when there is none. */
export async function deleteSecret(db: Db, environmentId: string, name: string): Promise<boolean> {
  const { count } = await db`
    delete from environments.secrets where environment_id = ${environmentId} and name = ${name}`;
  return count === 1;
}

/** Deletes all secrets of an environment. */
export async function deleteSecrets(db: Db, environmentId: string): Promise<void> {
  await db`delete from environments.secrets where environment_id = ${environmentId}`;
}
