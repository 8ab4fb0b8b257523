import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTest, testDatabase } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { openDatabase } from './db.ts';
import { applicationRole, asApplication, prepareApplicationRole } from './role.ts';

describe('the role of the application', () => {
  const { gateway, database } = shared(() => openTest());

  test('pool and bus of a gateway use it, and it is no superuser', async () => {
    const owner = openDatabase(database.target, 1);
    try {
      await gateway.kernel.sql`select 1`;
      const used = await owner`
        select distinct usename as role from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`;
      assert.deepEqual([...used], [{ role: applicationRole }]);
      const [role] = await owner`
        select rolsuper, rolcreatedb, rolcreaterole, rolbypassrls from pg_roles where rolname = ${applicationRole}`;
      assert.deepEqual(role, { rolsuper: false, rolcreatedb: false, rolcreaterole: false, rolbypassrls: false });
    } finally {
      await owner.end({ timeout: 1 });
    }
  });

  for (const statement of [
    `copy (select 1) to program 'true'`,
    `copy (select 1) to '/tmp/svc-written'`,
    `select pg_read_file('postgresql.conf')`,
    `alter role ${applicationRole} superuser`,
    `set role svc`,
    `create schema mine`,
    `create table keys.mine (n int)`,
    `drop table keys.keys`,
    `truncate keys.keys`,
    `alter table keys.keys disable trigger all`,
    `update kernel.migrations set checksum = ''`,
    `update kernel.audit set action = ''`,
    `set svc.forgets_audit = 'on'; delete from kernel.audit`,
    `set svc.forgets_audit = 'on'; delete from kernel.audit_view`,
    `create temp view pg_inherits as select 1`,
    `delete from schedules.approval_view`,
    `set svc.forgets_audit = 'on'; delete from sandboxes.audit`,
    `create database mine`,
  ]) {
    test(`it is refused: ${statement}`, async () => {
      await assert.rejects(gateway.kernel.sql.unsafe(statement), { code: '42501' });
    });
  }

  test('through functions of the owner no line of the audit log goes before its time', async () => {
    const { sql } = gateway.kernel;
    await sql`insert into kernel.audit (account_id, who, action) values (gen_random_uuid(), 'cli', 'x')`;
    assert.equal((await sql`select kernel.retire_audit(now() + interval '1 year', 10) as gone`)[0]?.['gone'], 0);
    await assert.rejects(
      sql`select kernel.forget_audit(account_id, 10) from kernel.audit limit 1`,
      /is not being deleted/,
    );
  });

  test('tables of later migrations are open to it, and preparing it again changes nothing', async () => {
    await using fresh = await testDatabase();
    const owner = openDatabase(fresh.target, 1);
    const application = openDatabase(asApplication(fresh.target), 1);
    try {
      await owner.unsafe(
        'create schema later; create table later.rows (n bigint generated always as identity, t text)',
      );
      await prepareApplicationRole(owner);
      await application`insert into later.rows (t) values ('x')`;
      await application`update later.rows set t = 'y'`;
      assert.deepEqual([...(await application`delete from later.rows returning n, t`)], [{ n: 1, t: 'y' }]);
    } finally {
      await Promise.all([owner.end({ timeout: 1 }), application.end({ timeout: 1 })]);
    }
  });

  test('two databases of one server may be prepared at once', async () => {
    await using one = await testDatabase();
    await using two = await testDatabase();
    const pools = [one, two, one, two].map(({ target }) => openDatabase(target, 1));
    await Promise.all(pools.map((sql) => sql`delete from kernel.facts where name = 'application_role'`));
    await Promise.all(pools.map(prepareApplicationRole));
    await Promise.all(pools.map((sql) => sql.end({ timeout: 1 })));
  });
});
