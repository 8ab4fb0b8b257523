import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { type DatabaseTarget, openDatabase, type Sql } from './db.ts';
import { migrate, missingMigrations } from './migrate.ts';

describe('migrations', () => {
  let database: TestDatabase;
  let sql: Sql;

  before(async () => {
    database = await testDatabase();
    sql = openDatabase(database.target, 2);
  });
  after(async () => {
    await sql.end();
    await database.drop();
  });

  test('eight gateways that start at once on an empty database apply each exactly once', async () => {
    const name = `empty_${randomUUID().replaceAll('-', '')}`;
    await sql.unsafe(`create database ${name}`);
    const { embedded } = database.target as Extract<DatabaseTarget, { embedded: unknown }>;
    const pools = Array.from({ length: 8 }, () => openDatabase({ embedded, database: name }, 1));
    const applied = (await Promise.all(pools.map((pool) => migrate(pool)))).flat();
    assert.equal(new Set(applied).size, applied.length);
    const first = pools[0] as Sql;
    assert.deepEqual(await missingMigrations(first), []);
    const [row] = await first<{ count: number }[]>`select count(*) from kernel.migrations`;
    assert.equal(row?.count, applied.length);
    await Promise.all(pools.map((pool) => pool.end()));
    await sql.unsafe(`drop database ${name}`);
  });

  test('of a newer version are left alone, so that gateways can be updated one by one', async () => {
    await sql`insert into kernel.migrations (name, checksum) values ('9999.future.thing', 'x')`;
    assert.deepEqual(await migrate(sql), []);
    assert.deepEqual(await missingMigrations(sql), []);
  });

  test('that were changed after they were applied stop the start', async () => {
    await sql`update kernel.migrations set checksum = 'other' where name = '0001.kernel.core'`;
    await assert.rejects(migrate(sql), /0001\.kernel\.core was changed/);
  });
});
