import type { Sql } from '../../apps/server/src/kernel/db/db.ts';
import type { Stage } from './stage.ts';
import type { Unit } from './units.ts';

/** What a unit of work costs the database. */
export interface Cost {
  statements: number;
  /** Messages of the bus. */
  messages: number;
  /** Rows that were inserted, changed or deleted. */
  rows: number;
  /** Bytes of the write-ahead log, without images of whole pages. */
  wal: number;
}

/** A unit that was counted, with the statements that were asked. */
export interface Counted extends Cost {
  asked: string[];
}

/** After this long without a word a unit is over, with all that it woke. */
const quietMs = 80;

/** Looks at the database on a connection of its own, past the wire. */
interface Look {
  rows(): Promise<number>;
  wal(): Promise<number>;
}

const noLook: Look = { rows: () => Promise.resolve(0), wal: () => Promise.resolve(0) };

/** Looks at rows and the log of a server with nothing else on it. */
export function lookAt(own: Sql, stage: Stage): Look {
  const { sql, background } = stage.gateway.kernel;
  return {
    async rows() {
      // Each connection tells its counts when it is asked to.
      await Promise.all(
        [sql, background].flatMap((pool) =>
          Array.from({ length: pool.options.max }, () => pool`select pg_stat_force_next_flush(), pg_sleep(0.02)`),
        ),
      );
      await own`select pg_stat_clear_snapshot()`;
      const [row] = await own<{ n: number }[]>`
        select sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint as n from pg_stat_user_tables`;
      return row?.n ?? 0;
    },
    async wal() {
      const [row] = await own<{ n: number }[]>`select (pg_current_wal_insert_lsn() - '0/0')::bigint as n`;
      return row?.n ?? 0;
    },
  };
}

/**
 * Does a unit some times and answers the median of each count: what runs on the real clock, such as a probe of a connection, falls
 * into one of them at most. The first time warms up and counts for nothing.
 */
export async function costOf(stage: Stage, unit: Unit, times: number, look: Look = noLook): Promise<Counted> {
  const whole = await count(stage, (each) => unit.prepare(each), times, look);
  if (!unit.beside) return whole;
  const beside = unit.beside.bind(unit);
  const other = await count(stage, beside, times, look);
  const asked = without(whole.asked, other.asked);
  const more = (kind: 'messages' | 'rows' | 'wal'): number => Math.max(0, whole[kind] - other[kind]);
  return { statements: asked.length, messages: more('messages'), rows: more('rows'), wal: more('wal'), asked };
}

async function count(stage: Stage, prepare: Unit['prepare'], times: number, look: Look): Promise<Counted> {
  const found: Counted[] = [];
  for (let time = 0; time <= times; time += 1) {
    const work = await prepare(stage);
    await stage.wire.quiet(quietMs);
    const [rows, wal] = [await look.rows(), await look.wal()];
    await stage.wire.quiet(quietMs);
    stage.wire.clear();
    await work();
    await stage.wire.quiet(quietMs);
    const { statements, messages } = stage.wire.asked();
    stage.wire.clear();
    const after = await look.wal();
    const changed = (await look.rows()) - rows;
    await stage.end();
    if (time > 0)
      found.push({ statements: statements.length, messages, rows: changed, wal: after - wal, asked: statements });
  }
  const median = (of: (each: Counted) => number): number =>
    found.map(of).sort((a, b) => a - b)[Math.floor(found.length / 2)] ?? 0;
  const statements = median((each) => each.statements);
  return {
    statements,
    messages: median((each) => each.messages),
    rows: median((each) => each.rows),
    wal: median((each) => each.wal),
    asked: found.find((each) => each.statements === statements)?.asked ?? [],
  };
}

/** What stands in `all` oftener than in `others`. */
function without(all: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return all.filter((each) => {
    const at = left.indexOf(each);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
