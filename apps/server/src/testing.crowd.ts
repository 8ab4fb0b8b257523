import { Json } from '@svc/contract';
import type { Sql } from './kernel/db/db.ts';
import { type ExampleRequest, exampleIds, prepareExample, routeOf, type Scene } from './testing.examples.ts';
import { preparations } from './testing.preparations.ts';

/** Operations that read and answer JSON. */
const readingIds = (): string[] =>
  exampleIds(false).filter((id) => {
    const { method, answers } = routeOf(id);
    return method === 'GET' && answers instanceof Json;
  });

/** Their examples need a machine that does nothing else yet. */
const first = ['schedules.runs', 'scheduler.runs', 'scheduler.getRun', 'overview.get'];

/** Makes all that the examples of these operations show, in one account; answers their requests. */
export async function prepareAll(scene: Scene): Promise<ReadonlyMap<string, ExampleRequest>> {
  const requests = new Map<string, ExampleRequest>();
  for (const id of new Set([...first, ...readingIds()]))
    requests.set(id, await prepareExample(scene, id, preparations[id]));
  return requests;
}

/** A table, its columns with their types, and of each unique index the column that makes a copy another row. */
interface Crowded {
  name: string;
  columns: string[];
  types: string[];
  unique: string[];
}

/**
 * Multiplies each row of an account: every table that names accounts gets `copies` more of each, with ids and other unique
 * values of their own, a second older each. What a constraint refuses stays single. Answers how many rows each table got.
 */
export async function crowd(sql: Sql, accountId: string, copies: number): Promise<ReadonlyMap<string, number>> {
  const tables = await sql<Crowded[]>`
    select format('%I.%I', n.nspname, c.relname) as name, array_agg(a.attname::text order by a.attnum) as columns,
      array_agg(format_type(a.atttypid, a.atttypmod) order by a.attnum) as types,
      array(
        select (array_agg(u.attname::text order by k.at desc))[1] from pg_index i, unnest(i.indkey) with ordinality k (number, at),
          pg_attribute u
        where u.attrelid = c.oid and u.attnum = k.number and i.indrelid = c.oid and i.indisunique and u.attname <> 'account_id' group by i.indexrelid) as "unique"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      and a.attidentity = ''
    where c.relkind in ('r', 'p') and not c.relispartition and n.nspname not in ('pg_catalog', 'information_schema')
      and exists (
        select from pg_attribute o where o.attrelid = c.oid and o.attname = 'account_id' and not o.attisdropped)
    group by c.oid, n.nspname, c.relname`;
  const made = new Map<string, number>();
  for (const { name, columns, types, unique } of tables) {
    const values = columns.map((column, at) => valueOf(column, types[at] ?? '', unique.includes(column)));
    const { count } = await sql.begin(async (tx) => {
      // Neither triggers nor references: a copy stands for one that was made as the first was.
      await tx`set local session_replication_role = replica`;
      return tx.unsafe(
        `insert into ${name} (${columns.map(quoted).join(', ')}) select ${values.join(', ')} from ${name} r,
         generate_series(1, ${copies}) crowd_n where r.account_id = $1 on conflict do nothing`,
        [accountId],
      );
    });
    if (count > 0) made.set(name, count);
  }
  await sql`analyze`;
  return made;
}

const quoted = (name: string): string => `"${name}"`;

/** Columns whose values are words of ours. */
const ofWords = new Set(['track', 'kind', 'type', 'model']);

function valueOf(column: string, type: string, isUnique: boolean): string {
  const own = `r.${quoted(column)}`;
  if (ofWords.has(column)) return own;
  if (type.startsWith('timestamp') && /^(?:created|updated|at$|started|received|last)/.test(column))
    return `${own} - make_interval(secs => crowd_n)`;
  if (!isUnique) return own;
  if (type === 'uuid') return `case when ${own} is not null then gen_random_uuid() end`;
  if (type === 'text' || type.startsWith('character')) return `${own} || '-' || crowd_n`;
  if (type === 'bytea') return `${own} || int4send(crowd_n)`;
  if (type === 'integer' || type === 'bigint' || type === 'smallint') return `${own} + crowd_n`;
  return own;
}

/** How much a JSON text has: bytes, values at every depth, and entries of its longest list. */
export function sizeOf(text: string): { bytes: number; values: number; longest: number } {
  let [values, longest] = [0, 0];
  JSON.parse(text, (_, value: unknown) => {
    values += 1;
    if (Array.isArray(value)) longest = Math.max(longest, value.length);
    return value;
  });
  return { bytes: Buffer.byteLength(text), values, longest };
}
