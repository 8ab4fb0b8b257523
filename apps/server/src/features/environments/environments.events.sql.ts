import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import type { EventRow } from './environments.rows.ts';

const columns = (db: Db) => db`id, environment_id, actor_id, actor_kind, kind, payload, created_at`;
/** Events that an environment keeps. */
const most = 10_000;

/** Writes what happened to an environment, in the transaction in which it does. */
export async function insertEvent(db: Db, event: Omit<EventRow, 'id'>): Promise<void> {
  await db`
    insert into environments.events (environment_id, actor_id, actor_kind, kind, payload, created_at)
    values (${event.environment_id}, ${event.actor_id}, ${event.actor_kind}, ${event.kind},
      ${JSON.stringify(event.payload)}::text::jsonb, ${event.created_at})`;
}

/** Events of an environment, newest first, before the one with this number. */
export async function listEvents(db: Db, id: string, limit: number, before?: string): Promise<EventRow[]> {
  return db<EventRow[]>`
    select ${columns(db)} from environments.events
    where environment_id = ${id} ${before === undefined ? db`` : db`and id < ${before}::bigint`}
    order by id desc limit ${limit}`;
}

/** Deletes events past 10,000 of an environment, and those of 400 days ago. */
export async function sweepEvents(db: Db, time: Time): Promise<void> {
  await db`delete from environments.events where created_at < ${nowOf(db, time)} - interval '400 days'`;
  await db`
    delete from environments.events e using (
      select environment_id, (array_agg(id order by id desc))[${most}::int] as last
      from environments.events group by environment_id having count(*) > ${most}::int) o
    where e.environment_id = o.environment_id and e.id < o.last`;
}
