import type { Db } from '../../../kernel/db/db.ts';

/** An account that may sign in. */
export async function findSigner(
  db: Db,
  accountId: string,
): Promise<{ email: string; name: string; email_verified: boolean } | undefined> {
  const [row] = await db<{ email: string; name: string; email_verified: boolean }[]>`
    select p.email, p.name, p.email_verified_at is not null as email_verified
    from accounts.people_view p join accounts.standing_view s on s.id = p.id
    where p.id = ${accountId} and not s.suspended and not s.deleting`;
  return row;
}
