import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';

/** Members hear of what waits after so long. */
const laterSeconds = 20;

/** Notes that members have still to hear of a change, for whose rows the budget of an account is used up. */
export async function putUntold(db: Db, time: Time, environmentId: string, accountId: string): Promise<void> {
  await db`
    insert into environments.untold (environment_id, account_id, due_at)
    values (${environmentId}, ${accountId}, ${nowOf(db, time)} + make_interval(secs => ${laterSeconds}))
    on conflict (environment_id) do nothing`;
}

/** Forgets it: they have heard of a later change. */
export async function dropUntold(db: Db, environmentId: string): Promise<void> {
  await db`delete from environments.untold where environment_id = ${environmentId}`;
}

/** What is due, the oldest first. */
export async function dueUntold(db: Db, time: Time): Promise<{ environment_id: string; account_id: string }[]> {
  return db<{ environment_id: string; account_id: string }[]>`
    select environment_id, account_id from environments.untold where due_at <= ${nowOf(db, time)}
    order by due_at limit 100`;
}
