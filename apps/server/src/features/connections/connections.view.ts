import type { connection } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../kernel/db/db.ts';
import { changesOf } from '../../kernel/records/app-changes.ts';
import { guestsOf } from '../../kernel/records/let-in.ts';
import { keysOfConnections } from '../keys/index.ts';
import type { ShownConnection } from './connections.sql.ts';

/** Rows in the words of the API, with the keys that they were given. */
export async function toRecords(db: Db, rows: readonly ShownConnection[]): Promise<z.input<typeof connection>[]> {
  const ids = rows.map(({ id }) => id);
  const [keys, guests, changes] = await Promise.all([
    keysOfConnections(db, ids),
    guestsOf(db, ids),
    changesOf(db, ids),
  ]);
  return rows.map((row) => ({
    id: row.id,
    client_id: row.client_id,
    name: row.name,
    trust: row.trust,
    ...(row.host !== null && { host: row.host }),
    scopes: row.scopes,
    resources: row.resources,
    key_ids: keys.filter(({ connection_id: of }) => of === row.id).map(({ id }) => id),
    let_in: guests.get(row.id)?.shown ?? [],
    let_in_total: guests.get(row.id)?.total ?? 0,
    changed: changes.get(row.id) ?? [],
    created_at: row.created_at,
    ...(row.ends_at !== null && { ends_at: row.ends_at }),
    ...(row.last_used_at !== null && { last_used_at: row.last_used_at }),
  }));
}
