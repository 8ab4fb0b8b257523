// From a change of an account to its frame, with one follower and with many; a steady stream of changes; a replay; and what a
// change costs the database.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { Connection, type Events, openEvents, Pool, requestText } from './lib/client.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atLeast, atMost, bench, type Row } from './lib/report.ts';
import { percentile } from './lib/stats.ts';

const waitMs = 5_000;

await bench(
  'feed',
  { changes: 500, followers: 200, rate: 1_000, seconds: 10, replay: 10_000 },
  async ({ changes, followers, rate, seconds, replay }, say) => {
    using dataDir = temporaryDataDir();
    await using platform = await startPlatform(dataDir.path, {
      SVC_RATE_REQUESTS: '100000000',
      SVC_QUOTA_SESSIONS: '1000000',
    });
    const { port, key } = platform;
    const headers = { authorization: `Bearer ${key}` };
    const connection = await Connection.open(port);
    const made = await connection.exchange(requestText('POST', '/v1/sessions', headers, '{"title":"bench"}'));
    const path = `/v1/sessions/${(JSON.parse(made.body) as { id: string }).id}`;
    const follow = (onFrame: (event: string, data: string) => void, after = ''): Promise<Events> =>
      openEvents(
        port,
        requestText('GET', `/v1/events/stream?topics=sessions${after && `&after=${after}`}`, headers),
        onFrame,
      );
    const change = (title: string): string => requestText('PATCH', path, headers, JSON.stringify({ title }));

    /** One change after the other; how long until the last follower has its frame. */
    async function latency(count: number): Promise<{ toFrame: number[]; toAnswer: number[]; failed: number }> {
      const [toFrame, toAnswer]: [number[], number[]] = [[], []];
      let [left, failed] = [0, 0];
      let all = Promise.withResolvers<void>();
      const open = await Promise.all(
        Array.from({ length: count }, () =>
          follow((event) => {
            if (event === 'change' && --left === 0) all.resolve();
          }),
        ),
      );
      for (let n = 0; n < changes; n += 1) {
        all = Promise.withResolvers();
        left = count;
        const began = performance.now();
        const framed = all.promise.then(() => performance.now() - began);
        await connection.exchange(change(`n${n}`));
        toAnswer.push(performance.now() - began);
        const ms = await Promise.race([framed, delay(waitMs)]);
        if (ms === undefined) failed += 1;
        else toFrame.push(ms);
      }
      for (const stream of open) stream.close();
      return { toFrame, toAnswer, failed };
    }

    say(`${changes} changes one after the other: 1 follower, then ${followers}`);
    await latency(1);
    const [one, many] = [await latency(1), await latency(followers)];

    say(`${rate} changes a second for ${seconds} s`);
    const sent = new Map<string, number>();
    const lags: number[] = [];
    const watching = await follow((event, data) => {
      if (event !== 'change') return;
      const title = /"title":"([^"]+)"/.exec(data)?.[1] ?? '';
      const at = sent.get(title);
      if (at !== undefined && sent.delete(title)) lags.push(performance.now() - at);
    });
    const pool = new Pool(port);
    // A session of its own for each lane: one row would be a queue.
    const paths = await Promise.all(
      Array.from({ length: 64 }, async () => {
        const answer = await pool.exchange(requestText('POST', '/v1/sessions', headers, '{"title":"lane"}'));
        return `/v1/sessions/${(JSON.parse(answer.body) as { id: string }).id}`;
      }),
    );
    const began = performance.now();
    const lanes = paths.map(async (lane, at) => {
      for (let n = at; n < rate * seconds; n += paths.length) {
        await delay(Math.max(0, began + (n / rate) * 1_000 - performance.now()));
        const title = randomUUID();
        sent.set(title, performance.now());
        await pool.exchange(requestText('PATCH', lane, headers, JSON.stringify({ title })));
      }
    });
    await Promise.all(lanes);
    const wroteMs = performance.now() - began;
    await delay(500);
    watching.close();
    pool.close();
    const lost = sent.size;

    say(`a replay of ${replay} changes`);
    const embedded = findRunning(dataDir.path);
    if (!embedded) throw new Error('the database does not run');
    const sql = openDatabase({ embedded, database: 'svc' }, 1);
    const start = JSON.parse((await connection.exchange(requestText('GET', '/v1/events', headers))).body) as {
      cursor: string;
    };
    await sql`
      insert into kernel.changes (account_id, topic, op, subject, body)
      select account_id, 'sessions', 'updated', gen_random_uuid(), '{"id":"x","title":"a title of some length","seq":12}'
      from (select account_id from keys.keys limit 1) k, generate_series(1, ${replay})`;
    const replays: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { promise, resolve } = Promise.withResolvers<void>();
      let left = replay;
      const from = performance.now();
      const stream = await follow((event) => {
        if (event === 'change' && --left === 0) resolve();
      }, start.cursor);
      await promise;
      replays.push(performance.now() - from);
      stream.close();
    }

    say('what a change costs');
    const measure = async (): Promise<{ wal: number; rows: number; commits: number }> => {
      await sql`select pg_stat_force_next_flush()`;
      await delay(1_500);
      const [row] = await sql<{ wal: number; rows: number; commits: number }[]>`
        select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal, xact_commit::float8 as commits,
          (tup_inserted + tup_updated + tup_deleted)::float8 as rows
        from pg_stat_database where datname = current_database()`;
      return row as { wal: number; rows: number; commits: number };
    };
    const before = await measure();
    const idle = await measure();
    for (let n = 0; n < 1_000; n += 1) await connection.exchange(change(`cost ${n}`));
    const after = await measure();
    const each = (name: 'wal' | 'rows' | 'commits'): number =>
      (after[name] - idle[name] - (idle[name] - before[name])) / 1_000;
    await sql.end();
    connection.close();

    const rowOf = (what: string, values: number[], failed: number): Row => ({
      what,
      'p50 ms': percentile(values, 0.5),
      'p99 ms': percentile(values, 0.99),
      failed,
    });
    return {
      rows: [
        rowOf('answer of a change', one.toAnswer, 0),
        rowOf('frame, 1 follower', one.toFrame, one.failed),
        rowOf(`last frame, ${followers} followers`, many.toFrame, many.failed),
        rowOf(`frame at ${Math.round((rate * seconds * 1_000) / wroteMs)} changes/s`, lags, lost),
        rowOf(`replay of ${replay}`, replays, 0),
        { what: 'a change costs', rows: each('rows'), 'WAL bytes': each('wal'), commits: each('commits') },
      ],
      targets: [
        atMost('p50 ms from a change to its frame', percentile(one.toFrame, 0.5), 15),
        atLeast('changes/s of one account', (rate * seconds * 1_000) / wroteMs, 0.95 * rate),
        atMost('changes that were not told', lost + one.failed + many.failed, 0),
        atMost('ms of a replay of 10,000', (percentile(replays, 0.5) * 10_000) / replay, 1_000),
      ],
    };
  },
);
