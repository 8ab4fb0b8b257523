import type { RelayUser } from '@svc/contract';
import type { Db } from '../../../kernel/db/db.ts';

/** A fingerprint of the members of each environment that have Linux users, with their keys: it changes with any of them. */
export async function usersHashes(db: Db, environmentIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await db<{ environment_id: string; hash: string }[]>`
    select environment_id, md5(string_agg(
      concat_ws(' ', account_id, linux_username, coalesce(ssh_public_key, '-')), chr(10) order by account_id)) as hash
    from environments.members where environment_id = any(${[...environmentIds]}::uuid[]) and role <> 'viewer'
    group by environment_id`;
  return new Map(rows.map(({ environment_id: id, hash }) => [id, hash]));
}

/** Members who may open a terminal, as their machine makes Linux users of them. */
export async function linuxUsersOf(db: Db, environmentId: string): Promise<RelayUser[]> {
  return db<RelayUser[]>`
    select account_id as user_id, linux_username, ssh_public_key from environments.members
    where environment_id = ${environmentId} and role <> 'viewer' order by place limit 200`;
}

/** Notes whose Linux user is there with the key that it has now; the others have none. */
export async function writeProvisioned(
  db: Db,
  now: string,
  environmentId: string,
  there: readonly Pick<RelayUser, 'user_id' | 'ssh_public_key'>[],
): Promise<boolean> {
  const { count } = await db`
    update environments.members m set provisioned_at = case when p.user_id is not null then ${now}::timestamptz end
    from environments.members x
    left join json_to_recordset(${JSON.stringify(there)}::json) as p(user_id uuid, ssh_public_key text)
      on p.user_id = x.account_id and coalesce(p.ssh_public_key, '') = coalesce(x.ssh_public_key, '')
    where m.environment_id = x.environment_id and m.account_id = x.account_id and x.environment_id = ${environmentId}
      and (m.provisioned_at is null) = (p.user_id is not null)`;
  return count > 0;
}
