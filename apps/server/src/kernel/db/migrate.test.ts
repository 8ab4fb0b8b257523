import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type TestDatabase, testDatabase } from '../../testing.ts';
import { type DatabaseTarget, openDatabase, type Sql } from './db.ts';
import { missingMigrations, requireSchema } from './applied.ts';
import { migrate } from './migrate.ts';

describe('migrations', () => {
  let database: TestDatabase;
  let admin: Sql;
  let target: DatabaseTarget;
  const name = `test_empty_${randomUUID().replaceAll('-', '')}`;

  before(async () => {
    database = await testDatabase();
    admin = openDatabase(database.target, 1);
    await admin.unsafe(`create database ${name} template template0`);
    if (!('embedded' in database.target)) throw new Error('test databases are embedded');
    target = { embedded: database.target.embedded, database: name };
  });
  after(async () => {
    await admin.unsafe(`drop database ${name} with (force)`);
    await admin.end({ timeout: 1 });
    await database.drop();
  });

  test('eight processes that migrate an empty database at once apply each file once, in order', async () => {
    const pools = Array.from({ length: 8 }, () => openDatabase(target, 2));
    const applied = await Promise.all(pools.map((sql) => migrate(sql)));
    const sql = pools[0] as Sql;
    const rows = await sql<{ name: string }[]>`select name from kernel.migrations order by applied_at, name`;
    assert.ok(rows.length >= 8);
    assert.deepEqual(applied.flat().sort(), rows.map((row) => row.name).sort());
    assert.deepEqual(await missingMigrations(sql), []);
    assert.deepEqual(await migrate(sql), [], 'a second time there is nothing to do');
    for (const pool of pools) await pool.end({ timeout: 1 });
  });

  test('a file that was changed after it was applied stops the start and names itself', async () => {
    const sql = openDatabase(target, 1);
    await migrate(sql);
    const [last] = await sql<{ name: string; checksum: string }[]>`
      select name, checksum from kernel.migrations order by name desc limit 1`;
    assert.ok(last);
    await sql`update kernel.migrations set checksum = 'other' where name = ${last.name}`;
    await assert.rejects(migrate(sql), new RegExp(`${last.name} was changed`));
    await sql`delete from kernel.migrations where name = ${last.name}`;
    assert.deepEqual(await missingMigrations(sql), [last.name]);
    await assert.rejects(requireSchema(sql), new RegExp(`lacks migration ${last.name} .*svc migrate.*svc up`));
    await sql`insert into kernel.migrations ${sql(last)}`;
    await sql.end({ timeout: 1 });
  });

  test('a newer migration that this version does not know stops a start, and no gateway that runs', async () => {
    const sql = openDatabase(database.target, 1);
    await sql`insert into kernel.migrations (name, checksum) values ('9999.kernel.future', 'x')`;
    await assert.rejects(migrate(sql), /a newer version of svc has changed this database \(9999\.kernel\.future\)/);
    assert.deepEqual(await missingMigrations(sql), []);
    await requireSchema(sql);
    await sql.end({ timeout: 1 });
  });

  test('a migration that fails leaves nothing of itself and goes on where it was once it can', async () => {
    const sql = openDatabase(target, 1);
    await sql`drop schema if exists health cascade`;
    await sql`create schema health`;
    await sql`delete from kernel.migrations where name like '%.health.create'`;
    await assert.rejects(migrate(sql), { code: '42P06' });
    assert.equal(
      (await missingMigrations(sql)).some((missing) => missing.includes('health')),
      true,
    );
    await sql`drop schema health`;
    assert.ok((await migrate(sql)).some((applied) => applied.includes('health')));
    await sql.end({ timeout: 1 });
  });
});
