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
  // Calls under way, which end by themselves.
  'hosts.calls',
];

interface Table {
  name: string;
  state: string | null;
  has_account: boolean;
}

/** Counts the rows of every table: those of an account where a table names accounts, else all. */
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
          where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped) as has_account
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^pg_'
        and n.nspname not in ('information_schema', 'public')
      order by 1`;
    const parts = tables
      .filter(({ name }) => !ofThePlatform.includes(name))
      .map(({ name, state, has_account: owned }) => {
        const label = state === null ? `'${name}'` : `'${name}:' || coalesce(${state}, '')`;
        return `select ${label} as name, count(*)::int as count from ${name} ${owned ? 'where account_id = $1' : ''} group by 1`;
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

/** Lines about each request that was made: a client that sends one twice without an Idempotency-Key made two. */
const ofEachRequest = new Set(['kernel.audit', 'kernel.changes']);

/** What differs between two changes, in words; undefined: nothing. `isTwice`: the request was made twice. */
export function difference(
  wanted: ReadonlyMap<string, number>,
  got: ReadonlyMap<string, number>,
  isTwice: boolean,
): string | undefined {
  const changes = between(wanted, got);
  if (isTwice) for (const name of ofEachRequest) if ((changes.get(name) ?? 0) > 0) changes.delete(name);
  return changes.size === 0 ? undefined : inWords(changes);
}
