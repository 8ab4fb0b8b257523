import { setInterval as every } from 'node:timers/promises';
import type { Db, Sql } from './db.ts';

const lookMs = 200;

/** Something that may wait for locks. */
interface Waiting {
  /** Looks, on another connection than `on`. */
  sql: Sql;
  on: Db;
  name: string;
  say: (what: string) => void;
}

/**
 * Runs `work`, which asks on the connection `on`, and says whose locks it waits for, once for each of them. Of a pool of one
 * connection none is left to look by: then it says nothing.
 */
export async function told<T>({ sql, on, name, say }: Waiting, work: () => Promise<T>): Promise<T> {
  if (sql.options.max < 2) return work();
  const [{ pid } = { pid: 0 }] = await on<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const over = new AbortController();
  const said = new Set<number>();
  const look = async (): Promise<void> => {
    for await (const _ of every(lookMs, undefined, { signal: over.signal, ref: false })) {
      for (const other of await blockersOf(sql, pid)) {
        if (said.has(other.pid)) continue;
        said.add(other.pid);
        say(`migration ${name} waits for process ${other.pid} of the database (${other.what})`);
      }
    }
  };
  // A look that fails, or is over, is no fault of the work.
  const looking = look().catch(() => {});
  try {
    return await work();
  } finally {
    over.abort();
    await looking;
  }
}

/** Who holds what the process waits for: for how long its transaction is open, and what it does. */
async function blockersOf(db: Db, pid: number): Promise<{ pid: number; what: string }[]> {
  return db<{ pid: number; what: string }[]>`
    select pid, concat_ws(', ', nullif(trim(application_name), ''), state,
      'in a transaction for ' || greatest(0, extract(epoch from clock_timestamp() - xact_start))::int || ' s') as what
    from pg_stat_activity where pid = any(pg_blocking_pids(${pid}))`;
}

/** The code of a fault of the database. */
export const codeOf = (error: unknown): string | undefined => (error as { code?: string }).code;

/** Whether the connection is gone with the fault. */
export function endsConnection(error: unknown): boolean {
  const { severity, code = '' } = error as { severity?: string; code?: string };
  return severity === 'FATAL' || severity === 'PANIC' || /^(?:CONNECTION_|E[A-Z]+$)/.test(code);
}
