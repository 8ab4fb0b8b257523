import { randomUUID } from 'node:crypto';
import type { Db, Sql } from './kernel/db/db.ts';
import { onBehalfOf } from './kernel/db/fair.ts';
import { asOwner, type TestDatabase } from './testing.ts';

/** Undoes a transaction. */
class Undone extends Error {}

/**
 * The pages (8 KiB) of tables and indexes that `work` reads, whatever values it has: by the plan that a connection
 * keeps once it has seen five. What it writes is undone.
 */
export async function pagesOf(database: TestDatabase, work: (db: Db) => Promise<unknown>): Promise<number> {
  let pages = 0;
  await asOwner(database, async (sql) => {
    const undone = sql.begin(async (tx) => {
      await tx`set local plan_cache_mode = force_generic_plan`;
      const read = async (): Promise<number> => {
        const [row] = await tx<{ pages: number }[]>`
          select sum(pg_stat_get_xact_blocks_fetched(c.oid))::int as pages from pg_class c
          where c.relkind in ('r', 'i') and c.relnamespace::regnamespace::text !~ '^(pg_|information_schema)'`;
        return row?.pages ?? 0;
      };
      const before = await read();
      await work(tx);
      pages = (await read()) - before;
      throw new Undone();
    });
    await undone.catch((error: unknown) => {
      if (!(error instanceof Undone)) throw error;
    });
  });
  return pages;
}

/** More than a pool of the tests has. */
const mostConnections = 16;

/** The statements that connections of these pools have prepared. */
export async function statementsOf(pools: readonly Sql[]): Promise<string[]> {
  const found = await Promise.all(
    pools.flatMap((pool) =>
      // At once and for an account each, so that every connection is asked, whoever has which.
      Array.from({ length: mostConnections }, () =>
        onBehalfOf(
          randomUUID(),
          async () => pool<{ statement: string }[]>`
            select p.statement from pg_prepared_statements p, (select pg_sleep(0.2)) together`,
        ),
      ),
    ),
  );
  const texts = found.flat().map(({ statement }) => statement.trim());
  return [...new Set(texts)].filter((text) => /^(?:select|insert|update|delete|with)\b/i.test(text)).sort();
}

/** A step of a plan, as Postgres tells it. */
interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Filter?: string;
  Plans?: PlanNode[];
}

/**
 * Statements whose plan, as one connection keeps it for all values, reads a partial index from end to end and throws
 * rows away: each was made for a question that the statement does not ask, and costs nothing only as long as statistics
 * say that it is empty. A table that is small is read whole for that alone, which is not asked for here.
 */
export async function wideReads(database: TestDatabase, texts: readonly string[]) {
  return asOwner(database, async (sql) => {
    await sql`analyze`;
    await sql`set enable_seqscan = off`;
    const partial = await sql<{ name: string }[]>`
      select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid where i.indpred is not null`;
    const names = new Set(partial.map(({ name }) => name));
    const wide: { index: string; text: string }[] = [];
    for (const text of texts) {
      const [row] = await sql.unsafe<{ 'QUERY PLAN': [{ Plan: PlanNode }] }[]>(
        `explain (generic_plan, format json) ${text}`,
      );
      const look = (node: PlanNode, filter = node.Filter): void => {
        const { 'Index Name': index, 'Index Cond': condition } = node;
        if (index !== undefined && names.has(index) && condition === undefined && filter !== undefined)
          wide.push({ index, text });
        // The filter of what a bitmap finds is that of the step above.
        for (const below of node.Plans ?? [])
          look(below, below['Node Type'] === 'Bitmap Index Scan' ? node.Filter : below.Filter);
      };
      if (row) look(row['QUERY PLAN'][0].Plan);
    }
    return wide;
  });
}
