// From a change of an account to its frame, with one follower and with many; a steady stream of changes; a replay; and what a
// change costs the database.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase, type Sql } from '../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { Connection, type Events, openEvents, Pool, requestText } from './lib/client.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atLeast, atMost, bench, type Row } from './lib/report.ts';
import { percentile } from './lib/stats.ts';

const waitMs = 5_000;
/** Sessions whose titles a steady stream of changes sets: one row would be a queue. */
const lanes = 64;
const flags = { changes: 500, followers: 200, rate: 1_000, seconds: 10, replay: 10_000 };

/** An account whose changes are new titles of sessions. */
class Account {
  readonly port: number;
  readonly #connection: Connection;
  readonly #headers: Record<string, string>;
  #path = '';

  private constructor(port: number, key: string, connection: Connection) {
    this.port = port;
    this.#connection = connection;
    this.#headers = { authorization: `Bearer ${key}` };
  }

  static async open(port: number, key: string): Promise<Account> {
    const account = new Account(port, key, await Connection.open(port));
    account.#path = await account.newSession();
    return account;
  }

  async newSession(): Promise<string> {
    const answer = await this.#connection.exchange(this.text('POST', '/v1/sessions', { title: 'bench' }));
    return `/v1/sessions/${(JSON.parse(answer.body) as { id: string }).id}`;
  }

  text(method: string, path: string, body?: object): string {
    return requestText(method, path, this.#headers, body && JSON.stringify(body));
  }

  async change(title: string): Promise<void> {
    await this.#connection.exchange(this.text('PATCH', this.#path, { title }));
  }

  async cursor(): Promise<string> {
    const { body } = await this.#connection.exchange(this.text('GET', '/v1/events'));
    return (JSON.parse(body) as { cursor: string }).cursor;
  }

  /** Calls `onChange` with each change, as JSON. */
  follow(onChange: (data: string) => void, after = ''): Promise<Events> {
    const path = `/v1/events/stream?topics=sessions${after && `&after=${after}`}`;
    return openEvents(this.port, this.text('GET', path), (event, data) => {
      if (event === 'change') onChange(data);
    });
  }

  close(): void {
    this.#connection.close();
  }
}

await bench('feed', flags, async ({ changes, followers, rate, seconds, replay }, say) => {
  using dataDir = temporaryDataDir();
  const settings = { SVC_RATE_REQUESTS: '100000000', SVC_QUOTA_SESSIONS: '1000000' };
  await using platform = await startPlatform(dataDir.path, settings);
  const embedded = findRunning(dataDir.path);
  if (!embedded) throw new Error('the database does not run');
  const sql = openDatabase({ embedded, database: 'svc' }, 1);
  const account = await Account.open(platform.port, platform.key);

  say(`${changes} changes one after the other: 1 follower, then ${followers}`);
  await latency(account, 1, changes);
  const [one, many] = [await latency(account, 1, changes), await latency(account, followers, changes)];
  say(`${rate} changes a second for ${seconds} s`);
  const steady = await stream(account, rate, seconds);
  say(`a replay of ${replay} changes`);
  const replays = await replayed(account, sql, replay);
  say('what a change costs');
  const cost = await costOf(account, sql, 1_000);
  await sql.end();
  account.close();
  return {
    rows: [
      rowOf('answer of a change', one.toAnswer, 0),
      rowOf('frame, 1 follower', one.toFrame, one.failed),
      rowOf(`last frame, ${followers} followers`, many.toFrame, many.failed),
      rowOf(`frame at ${Math.round(steady.rate)} changes/s`, steady.lags, steady.lost),
      rowOf(`replay of ${replay}`, replays, 0),
      { what: 'a change costs', ...cost },
    ],
    targets: [
      atMost('p50 ms from a change to its frame', percentile(one.toFrame, 0.5), 15),
      atLeast('changes/s of one account', steady.rate, 0.95 * rate),
      atMost('changes that were not told', steady.lost + one.failed + many.failed, 0),
      atMost('ms of a replay of 10,000', (percentile(replays, 0.5) * 10_000) / replay, 1_000),
    ],
  };
});

function rowOf(what: string, values: number[], failed: number): Row {
  return { what, 'p50 ms': percentile(values, 0.5), 'p99 ms': percentile(values, 0.99), failed };
}

/** One change after the other; how long until the last follower has its frame. */
async function latency(account: Account, followers: number, changes: number) {
  const [toFrame, toAnswer]: [number[], number[]] = [[], []];
  let [left, failed] = [0, 0];
  let all = Promise.withResolvers<void>();
  const onChange = (): void => {
    left -= 1;
    if (left === 0) all.resolve();
  };
  const open = await Promise.all(Array.from({ length: followers }, () => account.follow(onChange)));
  for (let n = 0; n < changes; n += 1) {
    all = Promise.withResolvers();
    left = followers;
    const began = performance.now();
    const framed = all.promise.then(() => performance.now() - began);
    await account.change(`n${n}`);
    toAnswer.push(performance.now() - began);
    const ms = await Promise.race([framed, delay(waitMs)]);
    if (ms === undefined) failed += 1;
    else toFrame.push(ms);
  }
  for (const each of open) each.close();
  return { toFrame, toAnswer, failed };
}

/** So many changes a second; how late each comes on a stream, and which never do. */
async function stream(account: Account, rate: number, seconds: number) {
  const sent = new Map<string, number>();
  const lags: number[] = [];
  const watching = await account.follow((data) => {
    const title = /"title":"([^"]+)"/.exec(data)?.[1] ?? '';
    const at = sent.get(title);
    if (at !== undefined && sent.delete(title)) lags.push(performance.now() - at);
  });
  const paths: string[] = [];
  while (paths.length < lanes) paths.push(await account.newSession());
  const pool = new Pool(account.port);
  const began = performance.now();
  await Promise.all(
    paths.map(async (path, lane) => {
      for (let n = lane; n < rate * seconds; n += lanes) {
        await delay(Math.max(0, began + (n / rate) * 1_000 - performance.now()));
        const title = randomUUID();
        sent.set(title, performance.now());
        await pool.exchange(account.text('PATCH', path, { title }));
      }
    }),
  );
  const tookMs = performance.now() - began;
  await delay(500);
  watching.close();
  pool.close();
  return { lags, lost: sent.size, rate: (rate * seconds * 1_000) / tookMs };
}

/** Milliseconds from a request with an old cursor to the last change behind it, five times. */
async function replayed(account: Account, sql: Sql, changes: number): Promise<number[]> {
  const cursor = await account.cursor();
  await sql`
    insert into kernel.changes (account_id, topic, op, subject, body)
    select account_id, 'sessions', 'updated', gen_random_uuid(), '{"id":"x","title":"a title of some length","seq":12}'
    from (select account_id from keys.keys limit 1) k, generate_series(1, ${changes})`;
  const times: number[] = [];
  while (times.length < 5) {
    const { promise, resolve } = Promise.withResolvers<void>();
    let left = changes;
    const began = performance.now();
    const open = await account.follow(() => {
      left -= 1;
      if (left === 0) resolve();
    }, cursor);
    await promise;
    times.push(performance.now() - began);
    open.close();
  }
  return times;
}

/** Rows, bytes of WAL and commits of one change, those of an idle platform taken off. */
async function costOf(account: Account, sql: Sql, changes: number): Promise<Row> {
  const measure = async () => {
    await sql`select pg_stat_force_next_flush()`;
    await delay(1_500);
    const [row] = await sql<{ rows: number; wal: number; commits: number }[]>`
      select (tup_inserted + tup_updated + tup_deleted)::float8 as rows, xact_commit::float8 as commits,
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal
      from pg_stat_database where datname = current_database()`;
    return row as { rows: number; wal: number; commits: number };
  };
  const [before, idle] = [await measure(), await measure()];
  for (let n = 0; n < changes; n += 1) await account.change(`cost ${n}`);
  const after = await measure();
  const each = (name: keyof typeof idle): number => (after[name] - 2 * idle[name] + before[name]) / changes;
  return { rows: each('rows'), 'WAL bytes': each('wal'), commits: each('commits') };
}
