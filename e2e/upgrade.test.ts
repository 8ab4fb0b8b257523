import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openDatabase, type Sql } from '../apps/server/src/kernel/db/db.ts';
import { migrate } from '../apps/server/src/kernel/db/migrate.ts';
import { http, startGateway, type TestDatabase, type TestGateway, testDatabase } from '../apps/server/src/testing.ts';

/** Data that a platform of an earlier version kept: `upgrade/README.md` says how it was made. */
interface Kept<Held extends object = object> {
  commit: string;
  master_key: string;
  /** The owner's. */
  key: string;
  /** Answers of that version: what a client of it still holds. */
  held: Held;
  tables: Record<string, Record<string, unknown>[]>;
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, `upgrade/${name}.json`), 'utf8'));
const migrationsDir = join(import.meta.dirname, '../apps/server/migrations');
/** Rows that an upgrade drops on purpose: answers that were shown once. */
const forgotten = (table: string, row: Record<string, unknown>): boolean =>
  table === 'kernel.idempotency' && ['keys.create', 'heartbeats.create'].includes(String(row['route']));

describe('a database before hardening', () => {
  const kept = read('before-hardening') as Kept<{
    ping_url: string;
    stored: { key: string; body: object; id: string };
    vapid: string;
    revoked: string;
    paused: string;
  }>;
  const of = upgraded(kept);

  test('has a row of every kind, and keeps all of them, with every value', () => of.keepsAll());

  test('serves what it held: keys, lists, pings, stored answers, the push identity; what was refused still is', async () => {
    const { url, get } = await of.serve();
    const { key, held, tables } = kept;
    for (const [path, list, table] of [
      ['/v1/keys', 'keys', 'keys.keys'],
      ['/v1/devices', 'devices', 'devices.devices'],
      ['/v1/heartbeats', 'heartbeats', 'heartbeats.monitors'],
      ['/v1/schedules', 'schedules', 'schedules.schedules'],
      ['/v1/schedule-runs', 'runs', 'scheduler.runs'],
      ['/v1/sandboxes', 'data', 'sandboxes.sandboxes'],
    ] as const) {
      const ids = new Set(((await get(path))[list] as { id: string }[]).map(({ id }) => id));
      const owned = (tables[table] ?? []).map((row) => String(row['id']));
      assert.ok(ids.size > 0 && owned.some((id) => ids.has(id)), path);
    }
    assert.equal((await http(url, new URL(held.ping_url).pathname)).status, 200);
    const again = await http(url, '/v1/schedules', {
      key,
      body: held.stored.body,
      headers: { 'idempotency-key': held.stored.key },
    });
    assert.deepEqual(
      [again.status, again.body.id, again.headers.get('idempotency-replayed')],
      [201, held.stored.id, 'true'],
    );
    assert.equal((await get('/v1/push/vapid-key')).public_key, held.vapid);
    assert.equal((await http(url, '/v1/keys', { key: held.revoked })).status, 401);
    assert.equal((await http(url, '/v1/keys', { key: held.paused })).status, 401);
    assert.equal((await http(url, '/v1/keys', { key, body: { name: 'new' } })).status, 201);
  });
});

describe('a database before environments', () => {
  const kept = read('before-environments') as Kept<{ transcript: string; live: string; upload: string; share: string }>;
  const of = upgraded(kept);

  test('keeps every row of recordings and uploads, with every value', () => of.keepsAll());

  test('serves recordings, what a person corrected in them, searches, folders, words of its own, and shared pages', async () => {
    const { url, get } = await of.serve();
    const { transcript, live, share } = kept.held;
    const { transcript: record } = await get(`/v1/transcripts/${transcript}`);
    assert.deepEqual(
      [record.status, record.utterances[0].text, record.speakers[0].name, record.bookmarks.length, record.tags],
      ['ready', 'Ana Popescu spoke here', 'Ana', 1, ['kept']],
    );
    assert.ok(record.utterances[1].words.length > 0);
    assert.equal((await get(`/v1/transcripts/${live}`)).transcript.status, 'recording');
    const { results } = await get('/v1/transcripts/search?q=popescu');
    assert.equal(results.length, 1);
    assert.equal((await get('/v1/transcript-folders')).folders.length, 1);
    assert.equal((await get('/v1/transcript-vocabulary')).entries.length, 1);
    const page = await fetch(url + new URL(share).pathname);
    assert.match(await page.text(), /Ana Popescu spoke here/);
  });
});

describe('a database before identity', () => {
  const kept = read('before-identity') as Kept<{ environment: string; managed: string; member: string }>;
  const of = upgraded(kept);

  test('keeps every row of projects, environments, relays and clouds, with every value', () => of.keepsAll());

  test('serves environments with their members, ports, secrets and events, and hours that were charged', async () => {
    const { url, get } = await of.serve();
    const { environment, managed, member } = kept.held;
    const { environment: own, role, members, ports, events } = await get(`/v1/environments/${environment}`);
    assert.deepEqual([own.state, role, members.length, ports[0].label], ['enrolling', 'owner', 2, 'web']);
    assert.ok(events.some(({ kind }: { kind: string }) => kind === 'state:pending->enrolling'));
    const { secrets } = await get(`/v1/environments/${environment}/secrets`);
    assert.deepEqual(
      secrets.map(({ name }: { name: string }) => name),
      ['TOKEN'],
    );
    const cloud = (await get(`/v1/environments/${managed}`)).environment;
    assert.deepEqual([cloud.provider, cloud.metadata], ['managed_b', { budget_micro_eur: 5_000_000 }]);
    const seen = await http(url, `/v1/environments/${environment}`, { key: member });
    assert.deepEqual([seen.status, seen.body.role], [200, 'developer']);
  });

  test('makes the oldest account the operator, and no other one', async () => {
    const accounts = await of.accounts();
    assert.ok(accounts.length > 1);
    assert.deepEqual(
      accounts.map(({ operator }) => operator),
      accounts.map((_, at) => at === 0),
    );
  });
});

/** A database with what was kept, for the tests of one `describe`. */
function upgraded(kept: Kept) {
  let database: TestDatabase;
  let gateway: TestGateway | undefined;
  let sql: Sql;

  before(async () => {
    database = await testDatabase('empty');
    sql = openDatabase(database.target, 1);
    await restore(sql, kept);
  });
  after(async () => {
    await gateway?.close();
    await sql.end({ timeout: 1 });
    await database.drop();
  });

  return {
    /** Migrates, and looks for every row. */
    async keepsAll(): Promise<void> {
      const empty = Object.entries(kept.tables).flatMap(([name, rows]) => (rows.length === 0 ? [name] : []));
      assert.deepEqual(empty, [], 'tables without a row in the fixture');
      await migrate(sql);
      for (const [table, rows] of Object.entries(kept.tables)) {
        for (const row of rows.filter((each) => !forgotten(table, each))) {
          const found = await sql.unsafe(
            `select 1 from ${table} t
             where to_jsonb(t) @> to_jsonb(json_populate_record(null::${table}, $1::json))
               - (select coalesce(array_agg(name), '{}') from unnest($2::text[]) as name)`,
            [JSON.stringify(row), await newColumns(sql, table, row)],
          );
          assert.ok(found.length > 0, `${table}: ${JSON.stringify(row)}`);
        }
      }
    },
    /** Its accounts, the oldest first. */
    accounts: () => sql<{ operator: boolean }[]>`select operator from accounts.accounts order by created_at, id`,
    /** Starts a gateway on it; `get` asks with the key that was kept. */
    async serve() {
      const { url } = (gateway = await startGateway(database, { settings: { SVC_MASTER_KEY: kept.master_key } }));
      const get = async (path: string) => {
        const answer = await http(url, path, { key: kept.key });
        assert.equal(answer.status, 200, path);
        return answer.body;
      };
      return { url, get };
    },
  };
}

/** Makes the schema of that version from the migrations it had, and puts its rows back. */
async function restore(sql: Sql, kept: Kept): Promise<void> {
  const applied = kept.tables['kernel.migrations'] as { name: string }[];
  await sql.unsafe(
    'create schema kernel; create table kernel.migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
  );
  for (const { name } of applied.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    await sql.unsafe(readFileSync(join(migrationsDir, `${name}.sql`), 'utf8'));
  }
  // Neither foreign keys nor triggers look: rows come in no order, and the audit log is append-only.
  await sql.unsafe('set session_replication_role = replica');
  for (const [table, rows] of Object.entries(kept.tables)) {
    await sql.unsafe(
      `insert into ${table} overriding system value select * from json_populate_recordset(null::${table}, $1::json)`,
      [JSON.stringify(rows)],
    );
  }
  await sql.unsafe('set session_replication_role = default');
  await sql`update kernel.idempotency set expires_at = now() + interval '1 hour'`;
  for (const row of kept.tables['kernel.idempotency'] ?? []) delete row['expires_at'];
  const identities = await sql<{ table: string; column: string }[]>`
    select table_schema || '.' || table_name as table, column_name as column from information_schema.columns
    where is_identity = 'YES'`;
  for (const { table, column } of identities) {
    await sql.unsafe(
      `select setval(pg_get_serial_sequence('${table}', '${column}'), (select coalesce(max(${column}), 1) from ${table}))`,
    );
  }
}

/** Columns that the row has not: later versions added them. */
async function newColumns(sql: Sql, table: string, row: Record<string, unknown>): Promise<string[]> {
  const [schema = '', name = ''] = table.split('.');
  const columns = await sql<{ name: string }[]>`
    select column_name as name from information_schema.columns where table_schema = ${schema} and table_name = ${name}`;
  return columns.flatMap((column) => (column.name in row ? [] : [column.name]));
}
