import type { Sql } from '../../apps/server/src/kernel/db/db.ts';

/** How many rows there are, by `schema.table`, or `schema.table:state` where rows have states. */
export type Counts = ReadonlyMap<string, number>;

/** Tables that say what the platform itself does, not what a request did. */
const ofThePlatform = [
  'kernel.gateways',
  'kernel.facts',
  'kernel.jobs',
  'kernel.migrations',
  'kernel.usage_records',
  'kernel.usage_counts',
  'kernel.idempotency_use',
  'kernel.idempotency',
  'kernel.change_floors',
  'kernel.rate_windows',
  'health.providers',
  'relay.presence',
  'hosts.presence',
  // Receipts, which are written in batches a while after an answer.
  'inference.requests',
  // Calls under way, which end by themselves, and turns of sessions that are still to be told of.
  'hosts.calls',
  'kernel.device_streams',
  'sessions.turns',
];

interface Table {
  name: string;
  state: string | null;
  has_account: boolean;
  /** Where it has none itself: the table with accounts that a foreign key of it names, the key's column, and that one's. */
  parent: string | null;
  own_column: string | null;
  parent_column: string | null;
}

/** The rows of an account. */
function ofAccount({ has_account: isOwned, parent, own_column: own, parent_column: its }: Table): string {
  if (isOwned) return 'where account_id = $1';
  return parent === null
    ? ''
    : `where exists (select from ${parent} p where p.${its} = t.${own} and p.account_id = $1)`;
}

/** Counts the rows of every table: those of an account where a table, or its parent, names accounts, else all. */
export class Counter {
  readonly #sql: Sql;
  readonly #query: string;

  private constructor(sql: Sql, query: string) {
    this.#sql = sql;
    this.#query = query;
  }

  static async of(sql: Sql): Promise<Counter> {
    const tables = await sql<Table[]>`
      select n.nspname || '.' || c.relname as name,
        (select a.attname from pg_attribute a
          where a.attrelid = c.oid and a.attname in ('state', 'status') and not a.attisdropped
            and a.atttypid = 'text'::regtype limit 1) as state,
        exists (select 1 from pg_attribute a
          where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped) as has_account,
        f.parent, f.own_column, f.parent_column
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      left join lateral (
        select k.confrelid::regclass::text as parent,
          (select attname from pg_attribute where attrelid = c.oid and attnum = k.conkey[1]) as own_column,
          (select attname from pg_attribute where attrelid = k.confrelid and attnum = k.confkey[1]) as parent_column
        from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'f' and exists (select 1 from pg_attribute a
          where a.attrelid = k.confrelid and a.attname = 'account_id' and not a.attisdropped)
        limit 1) f on true
      where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^pg_'
        and n.nspname not in ('information_schema', 'public')
      order by 1`;
    const parts = tables
      .filter(({ name }) => !ofThePlatform.includes(name))
      .map((table) => {
        const { name, state } = table;
        const label = state === null ? `'${name}'` : `'${name}:' || coalesce(${state}, '')`;
        return `select ${label} as name, count(*)::int as count from ${name} t ${ofAccount(table)} group by 1`;
      });
    return new Counter(sql, parts.join('\nunion all '));
  }

  async count(accountId: string): Promise<Counts> {
    const rows = await this.#sql.unsafe<{ name: string; count: number }[]>(this.#query, [accountId], { prepare: true });
    return new Map(rows.map(({ name, count }) => [name, count]));
  }
}

/** By how much rows became more or fewer; what stayed the same is left out. */
export function between(before: Counts, after: Counts): Map<string, number> {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return new Map(
    names
      .map((name) => [name, (after.get(name) ?? 0) - (before.get(name) ?? 0)] as const)
      .filter(([, change]) => change !== 0),
  );
}

/** In words, such as `keys.keys +1`. */
export const inWords = (changes: ReadonlyMap<string, number>): string =>
  [...changes].map(([name, by]) => `${name} ${by > 0 ? '+' : ''}${by}`).join(', ') || 'nothing';

/** What differs between two changes, beyond what may; in words, undefined: nothing. */
export function difference(
  wanted: ReadonlyMap<string, number>,
  got: ReadonlyMap<string, number>,
  may: { readonly twice: ReadonlySet<string>; readonly missing: ReadonlySet<string> },
): string | undefined {
  const changes = between(wanted, got);
  for (const [name, by] of changes) if ((by > 0 ? may.twice : may.missing).has(name)) changes.delete(name);
  return changes.size === 0 ? undefined : inWords(changes);
}
