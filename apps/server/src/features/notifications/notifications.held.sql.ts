import { mostCounted } from '../../kernel/db/counted.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { Channel } from './notifications.sql.ts';

/** No delivery is due so late: those that a person is to decide on. */
const undecided = '9999-01-01T00:00:00Z';

/** Holds every delivery until a person decides; answers how many. */
export async function holdDeliveries(db: Db): Promise<number> {
  return (await db`update notifications.deliveries set due_at = ${undecided}, held_until = null`).count;
}

/** Held deliveries by channel. */
export async function countHeld(db: Db): Promise<{ channel: Channel; waiting: number }[]> {
  return db`
    select channel, count(*)::int as waiting from notifications.deliveries where due_at = ${undecided}
    group by channel order by channel`;
}

/** Lets held deliveries go on; answers how many. */
export async function releaseHeld(db: Db): Promise<number> {
  return (await db`update notifications.deliveries set due_at = now() where due_at = ${undecided}`).count;
}

/** Drops held deliveries; answers how many. */
export async function dropHeld(db: Db): Promise<number> {
  return (await db`delete from notifications.deliveries where due_at = ${undecided}`).count;
}

/** Webhooks of an account that may not run wait with it: they are not late. `takeDeliveries` leaves the same ones. */
const mayGo = (db: Db) => db`(d.channel <> 'webhook' or exists (
  select 1 from accounts.standing_view a
  where a.id = case d.channel when 'webhook' then d.lane::uuid end and a.may_run))`;

/** Deliveries of all accounts that are due and not out, by channel, for a metric. */
export async function countDue(db: Db): Promise<Record<string, number>> {
  const rows = await db<{ channel: string; count: number }[]>`
    select channel, count(*)::int as count from (select channel from notifications.deliveries d
      where due_at <= now() and ${mayGo(db)} order by due_at limit ${mostCounted}) as counted group by channel`;
  return { push: 0, mail: 0, webhook: 0, ...Object.fromEntries(rows.map(({ channel, count }) => [channel, count])) };
}

/** For how long the oldest delivery that may go has been due, in seconds. */
export async function oldestDue(db: Db): Promise<number> {
  const [row] = await db<{ seconds: number }[]>`
    select extract(epoch from now() - due_at)::float8 as seconds from notifications.deliveries d
    where due_at <= now() and ${mayGo(db)} order by due_at limit 1`;
  return Math.max(0, row?.seconds ?? 0);
}
