import type { Db } from '../../../kernel/db/db.ts';

/** An access token that counts now: its grant and the app's connection do. */
interface AccessTokenRow {
  payload: Buffer;
  account_id: string;
  client_id: string;
  grant_id: string;
  expires_at: string;
}

/** The access token with this hash, while its grant is there. */
export async function findToken(db: Db, idHash: Buffer): Promise<AccessTokenRow | undefined> {
  const [row] = await db<AccessTokenRow[]>`
    select t.payload, t.account_id, t.client_id, t.grant_id, t.expires_at from auth.records t
    where t.model = 'AccessToken' and t.id_hash = ${idHash} and t.expires_at > now()
      and exists (select from auth.records g where g.model = 'Grant' and g.grant_id = t.grant_id)`;
  return row;
}
