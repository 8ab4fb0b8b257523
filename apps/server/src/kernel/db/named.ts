import type { Db } from './db.ts';
import { statement } from './statement.ts';

/** A record that has a name. */
interface NamedRow {
  id: string;
  title: string;
}
/** Texts of LIKE, and how many rows. */
interface Wanted {
  pattern: string;
  prefix: string;
  most: number;
}

/** Records of an account by a part of their name, those that begin with it first. `condition` narrows them further. */
export function namedStatement(
  table: string,
  name: string,
  { condition = 'true', id = 'id' }: { condition?: string; id?: string } = {},
): (db: Db, accountId: string, wanted: Wanted) => Promise<NamedRow[]> {
  // `offset 0` keeps the name from being made anew for the filter, the order and the answer: of a long text, or of a JSON
  // that has it, each costs a look into the table's overflow.
  const find = statement<NamedRow>(`
    select id, left(name, 200) as title
    from (select ${id} as id, ${name} as name from ${table} where account_id = $1 and ${condition} offset 0) named
    where name ilike $2
    order by (name ilike $3) desc, name, id limit $4`);
  return (db, accountId, { pattern, prefix, most }) => find(db, accountId, pattern, prefix, most);
}
