import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { asOwner, type TestDatabase, testDatabase, until } from '../../testing.ts';
import { missingOf } from './applied.ts';
import { concurrentIndex } from './concurrently.ts';
import { inTransaction, openDatabase, type Sql } from './db.ts';
import { migrate } from './migrate.ts';
import { markOf, type Migration, readMigrations, runsOn } from './migration.ts';
import { rehearse } from './rehearse.ts';
import { splitStatements } from './statements.ts';

/** Migrations of the next release: those of this one, and the given ones. */
function next(...files: readonly (readonly [name: string, sql: string])[]): Migration[] {
  const made = files.map(([name, sql]) => {
    const marks = markOf(sql) ?? { concurrently: false, oldest: null };
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex'), ...marks };
  });
  return [...readMigrations(), ...made];
}

const folder = import.meta.dirname;
const column = next([
  '0900.devices.colour',
  '-- additive\n-- Why: a test.\nalter table devices.devices add column colour text;\n',
]);
const indexSql =
  '-- additive, concurrently\n-- Why: a test.\ncreate index concurrently devices_names on devices.devices (name);\n';
const index = next(['0901.devices.names', indexSql]);

describe('migrations under a platform that runs', () => {
  let database: TestDatabase;
  let sql: Sql;
  let other: Sql;

  before(async () => {
    database = await testDatabase();
    sql = openDatabase(database.target, 3);
    other = openDatabase(database.target, 4);
  });
  after(async () => {
    await sql.end({ timeout: 1 });
    await other.end({ timeout: 1 });
    await database.drop();
  });

  /** A transaction that has read the table, until `end` is called. */
  async function reader(): Promise<{ pid: number; end: () => Promise<void> }> {
    const begun = Promise.withResolvers<number>();
    const over = Promise.withResolvers<void>();
    const done = inTransaction(other, async (tx) => {
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid, (select count(*) from devices.devices)`;
      begun.resolve(row?.pid ?? 0);
      await over.promise;
    });
    const pid = await begun.promise;
    return {
      pid,
      end: async () => {
        over.resolve();
        await done;
      },
    };
  }
  const indexes = () =>
    sql<
      { valid: boolean }[]
    >`select indisvalid as valid from pg_index where indexrelid = to_regclass('devices.devices_names')`;
  /** As before the migration. */
  const forget = async (name: string, undo: string): Promise<void> => {
    await sql.unsafe(undo);
    await sql`delete from kernel.migrations where name = ${name}`;
  };
  const isBuilding = async (): Promise<number | undefined> => {
    const [row] = await other<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and query ilike 'create index concurrently%'
        and state = 'active'`;
    return row?.pid;
  };

  test('one that waits behind a long transaction lets requests pass, says whom it waits for, and is done after it', async () => {
    const { pid, end } = await reader();
    const said: string[] = [];
    const migrating = migrate(sql, { migrations: column, say: (what) => said.push(what) });
    await until(() => said.filter((what) => what.includes('gave way')).length >= 2);
    // Behind a migration that stood and waited this one would wait as well.
    await other`select count(*) from devices.devices`;
    assert.ok(said.some((what) => what.includes(`0900.devices.colour waits for process ${pid} of the database (svc`)));
    await end();
    assert.deepEqual(await migrating, ['0900.devices.colour']);
    await forget('0900.devices.colour', 'alter table devices.devices drop column colour');
  });

  test('an index is made while others write to its table, and waits for what is open', async () => {
    const { pid, end } = await reader();
    const said: string[] = [];
    const migrating = migrate(sql, { migrations: index, say: (what) => said.push(what) });
    await until(() => said.some((what) => what.includes(`waits for process ${pid}`)));
    await other`update devices.devices set name = name`;
    await end();
    assert.deepEqual(await migrating, ['0901.devices.names']);
    assert.deepEqual([...(await indexes())], [{ valid: true }]);
    await forget('0901.devices.names', 'drop index devices.devices_names');
  });

  test('what a process that was killed left to the database is waited for, and finished', async () => {
    const { end } = await reader();
    const given = JSON.stringify({ target: database.target, last: index.at(-1) });
    const code = `
      const [{ openDatabase }, { migrate }] = await Promise.all(['db', 'migrate'].map((name) => import('${folder}/' + name + '.ts')));
      const { readMigrations } = await import('${folder}/migration.ts');
      const { target, last } = JSON.parse(process.argv[1]);
      await migrate(openDatabase(target, 2), { migrations: [...readMigrations(), last] });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code, given], { stdio: 'ignore' });
    await until(async () => (await isBuilding()) !== undefined);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const said: string[] = [];
    const migrating = migrate(sql, { migrations: index, say: (what) => said.push(what) });
    await until(() => said.some((what) => what.includes('another process that applies one')));
    await end();
    assert.deepEqual(await migrating, ['0901.devices.names']);
    assert.deepEqual([...(await indexes())], [{ valid: true }]);
    await forget('0901.devices.names', 'drop index devices.devices_names');
  });

  test('an index whose making was killed is made anew by the next start', async () => {
    const { end } = await reader();
    const killed = migrate(sql, { migrations: index });
    killed.catch(() => {});
    let pid: number | undefined;
    await until(async () => (pid = await isBuilding()) !== undefined && (await indexes()).length > 0);
    await other`select pg_terminate_backend(${pid as number})`;
    await assert.rejects(killed);
    await end();
    assert.deepEqual([...(await indexes())], [{ valid: false }]);
    assert.deepEqual(await migrate(sql, { migrations: index }), ['0901.devices.names']);
    assert.deepEqual([...(await indexes())], [{ valid: true }]);
    await forget('0901.devices.names', 'select 1');
  });

  test('an index that was whole when its process was killed is noted, and not made again', async () => {
    const [before] = await sql`select 'devices.devices_names'::regclass::oid as oid`;
    assert.deepEqual(await migrate(sql, { migrations: index }), ['0901.devices.names']);
    const [now] = await sql`select 'devices.devices_names'::regclass::oid as oid`;
    assert.deepEqual(now, before);
    const gone = next(
      ['0901.devices.names', indexSql],
      ['0902.devices.no_names', '-- gone since 0.1.0, concurrently\ndrop index concurrently devices.devices_names;\n'],
    );
    assert.deepEqual(await migrate(sql, { migrations: gone }), ['0902.devices.no_names']);
    assert.equal((await indexes()).length, 0);
    await forget('0902.devices.no_names', 'select 1');
    assert.deepEqual(await migrate(sql, { migrations: gone }), ['0902.devices.no_names'], 'what is gone is no fault');
    await sql`delete from kernel.migrations where name > '0900'`;
  });

  test('two processes that start at once make one index, also while a long transaction is in the way', async () => {
    const { end } = await reader();
    const second = openDatabase(database.target, 2);
    const said: string[] = [];
    const both = [sql, second].map((pool) => migrate(pool, { migrations: index, say: (what) => said.push(what) }));
    await until(() => said.some((what) => what.includes('another process that applies one')));
    await until(async () => (await isBuilding()) !== undefined);
    await end();
    assert.deepEqual((await Promise.all(both)).flat(), ['0901.devices.names']);
    assert.deepEqual([...(await indexes())], [{ valid: true }]);
    await second.end({ timeout: 1 });
    await forget('0901.devices.names', 'drop index devices.devices_names');
  });

  test('a migration that is killed in the middle leaves nothing, and is done by the next start', async () => {
    const slow = next([
      '0903.devices.slow',
      '-- additive\nalter table devices.devices add column slow text;\nselect pg_sleep(600);\n',
    ]);
    const killed = migrate(sql, { migrations: slow });
    killed.catch(() => {});
    let pid: number | undefined;
    await until(async () => {
      const [row] = await other<{ pid: number }[]>`
        select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
      return (pid = row?.pid) !== undefined;
    });
    await other`select pg_terminate_backend(${pid as number})`;
    await assert.rejects(killed);
    const fast = next(['0903.devices.slow', '-- additive\nalter table devices.devices add column slow text;\n']);
    assert.deepEqual(await migrate(sql, { migrations: fast }), ['0903.devices.slow']);
    await forget('0903.devices.slow', 'alter table devices.devices drop column slow');
  });

  test('the release before starts on the schema of the next one, when its migrations say so', async () => {
    const all = next(
      ['0904.devices.colour', '-- additive\nalter table devices.devices add column colour text;\n'],
      ['0905.devices.no_colour', '-- gone since 0.2.0\nalter table devices.devices drop column colour;\n'],
    );
    await migrate(sql, { migrations: all.slice(0, -1), release: '0.2.0' });
    assert.deepEqual(await missingOf(sql, { release: '0.1.0' }), []);
    await migrate(sql, { migrations: all, release: '0.3.0' });
    assert.deepEqual(await missingOf(sql, { release: '0.2.0' }), []);
    const refused = /a newer version of svc has changed this database \(0905\.devices\.no_colour\)/;
    await assert.rejects(missingOf(sql, { release: '0.1.9' }), refused);
    const unlike = next(['0899.devices.other', '-- additive\nselect 1;\n']);
    await assert.rejects(migrate(sql, { migrations: unlike, release: '9.0.0' }), refused, 'of another line');
    await sql`delete from kernel.migrations where name > '0900'`;
  });

  test('a rehearsal leaves nothing, and says of each migration how it went', async () => {
    const files = next(
      ['0907.devices.colour', '-- additive\nalter table devices.devices add column colour text;\n'],
      ['0908.devices.names', indexSql],
      ['0909.devices.fault', '-- additive\nselect colour from devices.devices;\nselect 1 / 0;\n'],
      ['0910.devices.after', '-- additive\nselect 1;\n'],
    );
    const outcomes = await rehearse(sql, await missingOf(sql, { migrations: files }));
    assert.deepEqual(
      outcomes.map(({ outcome }) => outcome),
      [
        'ran, and was rolled back',
        'not run, as it needs no transaction and would lock its table within one',
        'failed: division by zero',
        'not run, as 0909.devices.fault failed',
      ],
    );
    assert.equal((await missingOf(sql, { migrations: files })).length, 4);
  });

  test('a list of migrations that an earlier release made gets its new column with the next migration', async () => {
    await asOwner(database, (owner) => owner`alter table kernel.migrations drop column if exists oldest`);
    assert.deepEqual(await missingOf(sql), []);
    await migrate(sql, { migrations: next(['0906.devices.nothing', '-- additive\nselect 1;\n']) });
    assert.deepEqual(
      [...(await sql`select oldest from kernel.migrations order by name desc limit 2`)],
      [{ oldest: '0.0.0' }, { oldest: null }],
    );
    await sql`delete from kernel.migrations where name > '0900'`;
  });
});

describe('files of migrations', () => {
  test('the first line is the mark', () => {
    assert.deepEqual(markOf('-- additive\nselect 1'), { oldest: '0.0.0', concurrently: false });
    assert.deepEqual(markOf('-- gone since 0.2.0, concurrently\n'), { oldest: '0.2.0', concurrently: true });
    for (const none of ['', '-- Why: additive\n', 'select 1;\n-- additive\n', '-- additive, at once\n']) {
      assert.equal(markOf(none), undefined);
    }
  });

  test('releases compare by their numbers', () => {
    assert.deepEqual(
      [
        ['0.1.0', null],
        ['0.1.0', '0.0.0'],
        ['0.10.0', '0.9.1'],
        ['0.9.1', '0.10.0'],
        ['1.0.0-rc.1', '1.0.0'],
      ].map(([release, oldest]) => runsOn(release as string, oldest ?? null)),
      [false, true, true, false, true],
    );
  });

  test('statements end where they end, whatever stands in texts, bodies and comments', () => {
    const text = `-- a; b\nselect ';' as ";"; /* ; */ do $x$ begin; end $x$;\n;select 1`;
    assert.deepEqual(splitStatements(text), [`select ';' as ";"`, 'do $x$ begin; end $x$', 'select 1']);
    assert.equal(
      splitStatements(
        readMigrations()
          .map(({ sql }) => sql)
          .join('\n'),
      ).some((each) => each === ''),
      false,
    );
  });

  test('a statement that makes or drops an index is known by it', () => {
    const of = (text: string) => concurrentIndex(text);
    assert.deepEqual(of('create unique index concurrently if not exists a on b.c (d)'), {
      schema: 'b',
      name: 'a',
      isMade: true,
    });
    assert.deepEqual(of('drop index concurrently b.a'), { schema: 'b', name: 'a', isMade: false });
    assert.equal(of('create index a on b.c (d)'), undefined);
  });
});
