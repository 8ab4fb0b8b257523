import type { Db } from '../../../kernel/db/db.ts';
import type { PortRow } from '../environments.rows.ts';

const columns = (db: Db) =>
  db`id, environment_id, port, protocol, label, visibility, opened_by, published_by, created_at, updated_at`;

/** Published ports of an environment. */
export async function portsOf(db: Db, environmentId: string): Promise<PortRow[]> {
  return db<PortRow[]>`
    select ${columns(db)} from environments.ports where environment_id = ${environmentId} order by port`;
}

/** Publishes a port, or changes how it is. */
export async function putPort(
  db: Db,
  now: string,
  one: Pick<PortRow, 'environment_id' | 'port' | 'protocol' | 'label' | 'visibility' | 'opened_by' | 'published_by'>,
): Promise<PortRow> {
  const [row] = await db<PortRow[]>`
    insert into environments.ports ${db({ ...one, created_at: now, updated_at: now })}
    on conflict (environment_id, port) do update set
      protocol = excluded.protocol, label = excluded.label, visibility = excluded.visibility,
      published_by = excluded.published_by, updated_at = excluded.updated_at
    returning ${columns(db)}`;
  return row as PortRow;
}

/** Publishes a port no more; undefined when it was not. */
export async function deletePort(db: Db, environmentId: string, port: number): Promise<PortRow | undefined> {
  const [row] = await db<PortRow[]>`
    delete from environments.ports where environment_id = ${environmentId} and port = ${port} returning ${columns(db)}`;
  return row;
}

/** Published ports that a viewer of the environment may open. */
export async function portsForViewers(db: Db, environmentId: string): Promise<Set<number>> {
  const rows = await db<Pick<PortRow, 'port'>[]>`
    select port from environments.ports where environment_id = ${environmentId} and visibility <> 'owner'`;
  return new Set(rows.map(({ port }) => port));
}
