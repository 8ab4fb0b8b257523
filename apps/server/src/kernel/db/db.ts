import postgres from 'postgres';
import type { Clock } from '../base/clock.ts';
import { arrayTypes } from './arrays.ts';
import { dialer } from './dial.ts';
import { placesOf, urlOf } from '../../config.servers.ts';
import { startupPadding } from './socket.ts';
import { splitTls } from './tls.ts';

/** Rows carry `bigint` as number (all of ours stay below 2^53) and `timestamptz` as an RFC 3339 UTC string. */
type Types = { bigint: number; instant: string };

/** The pool. */
export type Sql = postgres.Sql<Types>;
/** The first argument of a query function: the pool or a transaction. */
export type Db = postgres.ISql<Types>;

/** How the database is reached: a URL, or the embedded server's socket, as its owner or as `user`. */
export type DatabaseTarget =
  | { url: string }
  | { embedded: { socketDir: string; port: number; user: string }; database: string; user?: string };

const afterCommit = Symbol('afterCommit');
const withCommit = Symbol('withCommit');
type AfterCommit = () => unknown;
/** Writes all items that a transaction gathered, in one statement. */
type Write<T> = (db: Db, items: readonly T[]) => Promise<unknown>;
type Gathered = Map<Write<never>, unknown[]>;
type Transaction = Db & { [afterCommit]?: AfterCommit[]; [withCommit]?: Gathered };

/** Connection options that pool and bus share. */
function connectionOptions(target: DatabaseTarget): [string, postgres.Options<{}>] | [postgres.Options<{}>] {
  // postgres.js gets one server: with several it tries for ever, without a pause, while none answers.
  if ('url' in target) {
    const { url } = splitTls(target.url);
    return [urlOf(url, placesOf(url)[0]), { ssl: false }];
  }
  const { socketDir, port, user } = target.embedded;
  return [{ host: socketDir, port, user: target.user ?? user, database: target.database }];
}

/** JSON text goes in as it is; objects are stringified. */
const jsonType = {
  to: 114,
  from: [114, 3802],
  parse: (value: string) => JSON.parse(value) as unknown,
  serialize: (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)),
};

/** The time that a statement may take before it fails with `unavailable`; unset: no limit. */
export interface Deadline {
  statementMs: number;
}
/** The work that a connection is for: `pg_stat_activity` shows it as the application's name. */
export type Use = 'requests' | 'background' | 'bus' | 'other';
/** A statement waits this long for its connection, unless it has a deadline; seconds. */
const connectWithin = 30;
/** After a statement's own deadline the server has this long to say so; then the connection is taken for dead. */
const saidWithinMs = 2_000;

/**
 * postgres.js reserves no connection for a transaction whose `begin` finds a full one, and sends it all the same: what others
 * asked then stood in that transaction. So none is ever full, here or by what its socket says (`guarded`).
 */
const mostPipelined = Number.MAX_SAFE_INTEGER;

/** Opens a pool of at most `max` connections. Nothing is connected until the first query. */
export function openDatabase(
  target: DatabaseTarget,
  max = 10,
  { deadline, use = 'other', ...extra }: postgres.Options<{}> & { deadline?: Deadline; use?: Use } = {},
): Sql {
  const silentMs = deadline && deadline.statementMs + saidWithinMs;
  const parts = connectionOptions(target);
  const types = {
    bigint: { to: 20, from: [20], parse: Number, serialize: String },
    json: jsonType,
    instant: {
      to: 1184,
      from: [1184],
      parse: instantOf,
      serialize: (value: string | Date) => new Date(value).toISOString(),
    },
  };
  const options = {
    max,
    onnotice: () => {},
    connection: {
      application_name: `svc ${use}`.padEnd(startupPadding),
      TimeZone: 'UTC',
      ...(deadline && { statement_timeout: deadline.statementMs }),
    },
    connect_timeout: deadline ? deadline.statementMs / 1_000 : connectWithin,
    socket: dialer('url' in target ? target.url : undefined, silentMs),
    // A lost server is noticed by the next query, which then waits at most this long before it tries again.
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 1),
    fetch_types: false,
    max_pipeline: mostPipelined,
    types: { ...types, ...arrayTypes(types) },
    ...extra,
  };
  return (parts.length === 2
    ? postgres(parts[0], { ...parts[1], ...options })
    : postgres({ ...parts[0], ...options })) as unknown as Sql;
}

/**
 * RFC 3339 with milliseconds of what Postgres writes in UTC, such as `2026-11-23 09:00:00.5+00`. Cut out of the text: a
 * `Date` takes four times as long, and a list of rows carries thousands.
 */
function instantOf(value: string): string {
  if (value.length < 22 || value[4] !== '-' || !value.endsWith('+00')) return new Date(value).toISOString();
  const milliseconds = value.slice(20, -3).slice(0, 3).padEnd(3, '0');
  return `${value.slice(0, 10)}T${value.slice(11, 19)}.${milliseconds}Z`;
}

/**
 * Runs `work` in one transaction; what `onCommit` was given runs once it is committed, and is waited for. When the
 * connection breaks it is over at once: postgres.js would go on to send `rollback`, or whatever `work` does next, to a
 * socket that is gone, which ends the process, or to the session that takes its place.
 */
export async function inTransaction<T>(sql: Sql, work: (tx: Db) => Promise<T>): Promise<T> {
  let committed: AfterCommit[] = [];
  let written: Promise<unknown> = Promise.resolve();
  let over = false;
  const begun = sql.begin(async (tx) => {
    const transaction: Transaction = refusing(tx, () => over);
    const gathered: Gathered = new Map();
    committed = [];
    transaction[afterCommit] = committed;
    transaction[withCommit] = gathered;
    try {
      const result = await work(transaction);
      if (over) await never;
      // Not waited for: the commit follows on the same way to the database.
      written = Promise.all([...gathered].map(([write, items]) => write(transaction, items as never[])));
      written.catch(() => {});
      return result;
    } catch (error) {
      // The error may come from a broken connection, which is reported in the same turn.
      await new Promise(setImmediate);
      if (over) await never;
      throw error;
    }
  });
  try {
    const result = await begun;
    // After a statement that failed, a commit is answered as if it had been one, and is none.
    await written;
    for (const settled of await Promise.allSettled(committed.map(async (run) => run()))) {
      // The transaction is committed: a caller that gets an error would do it a second time.
      if (settled.status === 'rejected') process.emitWarning(settled.reason as Error);
    }
    return result as T;
  } finally {
    over = true;
  }
}

const never = new Promise<never>(() => {});

/** The same transaction, which takes no query once it is over. */
function refusing<T extends object>(tx: T, isOver: () => boolean): T {
  const check = (): void => {
    if (isOver()) throw Object.assign(new Error('the transaction is over'), { code: 'CONNECTION_CLOSED' });
  };
  return new Proxy(tx, {
    apply(target, self, values) {
      check();
      return Reflect.apply(target as never, self, values);
    },
    get(target, name, receiver) {
      if (name === 'unsafe') check();
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
}

/** Runs `work` after the transaction `db` commits, which waits for it; at once when `db` is the pool. */
export async function onCommit(db: Db, work: AfterCommit): Promise<void> {
  const pending = (db as Transaction)[afterCommit];
  if (pending) pending.push(work);
  else await work();
}

/**
 * Gathers items that `write` gets in one call as the transaction's last statement, sent together with its commit: it costs
 * no further way to the database. When `write` fails, nothing is committed. On the pool it writes at once.
 */
export async function writeWithCommit<T>(db: Db, write: Write<T>, items: readonly T[]): Promise<void> {
  const gathered = (db as Transaction)[withCommit];
  if (!gathered) return void (await write(db, items));
  const known = gathered.get(write as Write<never>);
  if (known) known.push(...items);
  else gathered.set(write as Write<never>, [...items]);
}

/** Whether `db` is a transaction, and not the pool. */
export const isTransaction = (db: Db): boolean => (db as Transaction)[afterCommit] !== undefined;

/** A query, or a part of one: what functions answer whose statement the caller puts together. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** Once evaluated, a crash of the database's machine may lose the transaction, for 0.6 s: for changes that no answer reports. */
export const commitLater = (db: Db): Fragment => db`select set_config('synchronous_commit', 'off', true)`;

/** The database's clock, or the one that a test turns. */
export type Time = Pick<Clock, 'instant'>;

/** Now, in a query. */
export const nowOf = (db: Db, clock: Time) => {
  const instant = clock.instant();
  return instant === null ? db`now()` : db`${instant}::timestamptz`;
};

/** Quotes an SQL identifier. */
export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;
