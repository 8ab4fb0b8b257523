import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { missingOf } from '../apps/server/src/kernel/db/applied.ts';
import { openDatabase, type Sql } from '../apps/server/src/kernel/db/db.ts';
import { rehearse } from '../apps/server/src/kernel/db/rehearse.ts';
import { migratedText } from '../apps/server/src/migrate.command.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { prepareDatabase } from '../apps/server/src/resources.ts';
import { asked, schemaOf } from './looking.ts';
import { freePort, killAll, noSandboxes, type Platform, run, startPlatform, temporaryFolder } from './platform.ts';

const name = '0369.metering.by_sandbox';
const index = "select 1 as there from pg_indexes where indexname = 'spans_sandbox'";

describe('svc migrate', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  let platform: Platform;

  before(async () => {
    platform = await startPlatform(dataDir, await freePort());
  });
  after(async () => {
    killAll();
    await folder.remove();
  });
  const migrate = (words: readonly string[], settings: Record<string, string> = { SVC_DATA_DIR: dataDir }) =>
    run(['migrate', ...words], { ...noSandboxes, ...settings });
  const target = () => ({ embedded: findRunning(dataDir) ?? assert.fail('no database runs'), database: 'svc' });
  /** What the command does, in this process. */
  const inDatabase = async <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
    const sql = openDatabase(target(), 2);
    try {
      return await work(sql);
    } finally {
      await sql.end({ timeout: 1 });
    }
  };
  const apply = () => prepareDatabase(target(), () => {});
  /** As a version has it that is one migration older. */
  const goBack = async (): Promise<void> => {
    await asked(dataDir, `delete from kernel.migrations where name = '${name}'`);
    await asked(dataDir, 'drop index metering.spans_sandbox');
  };

  test('says what is missing, tries it without a trace, and applies it, beside a platform that runs', async () => {
    await goBack();
    const before = await schemaOf(dataDir);
    const { code, stdout } = await migrate(['--check']);
    assert.deepEqual([code, stdout], [1, `missing  ${name}\n`]);
    const tried = await migrate(['--dry-run']);
    assert.equal(tried.code, 0);
    assert.match(
      tried.stdout,
      new RegExp(`^-- ${name}: ran, and was rolled back\n-- Why: .*\ncreate index spans_sandbox `),
    );
    assert.deepEqual([await schemaOf(dataDir), await asked(dataDir, index)], [before, []]);
    assert.deepEqual(await migrate([]), { code: 0, stdout: `applied  ${name}\n`, stderr: '' });
    assert.equal((await asked(dataDir, index)).length, 1);
    assert.deepEqual(await apply(), []);
    const over = await migrate(['--check', '--json']);
    assert.deepEqual([over.code, JSON.parse(over.stdout), over.stderr], [0, { missing: [] }, '']);
    assert.equal(migratedText({ missing: [] }), 'the database has every migration of this version');
    assert.equal((await fetch(`${platform.url}/health/ready`)).status, 200);
  });

  test('a migration that would fail is named by --dry-run, with what the database says', async () => {
    await asked(dataDir, `delete from kernel.migrations where name = '${name}'`);
    const tried = await inDatabase(async (sql) => rehearse(sql, await missingOf(sql)));
    const applied = await migrate([]);
    await asked(dataDir, 'drop index metering.spans_sandbox');
    assert.match(
      migratedText({ rehearsed: tried }),
      new RegExp(`^-- ${name}: failed: relation "spans_sandbox" already exists\n`),
    );
    assert.deepEqual([applied.code, /already exists/.test(applied.stderr)], [1, true]);
    assert.deepEqual(await apply(), [name]);
  });

  test('applies nothing to the database of a newer version, and says so', async () => {
    await goBack();
    await asked(dataDir, "insert into kernel.migrations (name, checksum) values ('9999.kernel.future', 'x')");
    const { code, stdout, stderr } = await migrate([]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^svc: a newer version of svc has changed this database \(9999\.kernel\.future\).*\n$/);
    // As --check and --dry-run begin.
    await assert.rejects(inDatabase(missingOf), /^CommandError: a newer version of svc has changed this database/);
    assert.deepEqual(await asked(dataDir, index), []);
    await asked(dataDir, "delete from kernel.migrations where name = '9999.kernel.future'");
    assert.deepEqual(await apply(), [name]);
  });

  test('works with a database that is given by URL', async () => {
    await goBack();
    const embedded = findRunning(dataDir);
    assert.ok(embedded);
    const door = createServer((client) => {
      const database = connect(join(embedded.socketDir, `.s.PGSQL.${embedded.port}`));
      client.on('error', () => database.destroy()).pipe(database);
      database.on('error', () => client.destroy()).pipe(client);
    }).listen(0, '127.0.0.1');
    await once(door, 'listening');
    const { port } = door.address() as AddressInfo;
    const url = { SVC_DATABASE_URL: `postgres://${embedded.user}@127.0.0.1:${port}/svc`, SVC_DATA_DIR: dataDir };
    assert.deepEqual(
      [(await migrate(['--check'], url)).code, (await migrate([], url)).stdout],
      [1, `applied  ${name}\n`],
    );
    assert.deepEqual(await inDatabase(missingOf), []);
    door.close();
  });

  test('starts the embedded database of a platform that is down, and stops it again', async () => {
    await goBack();
    await platform.end();
    assert.equal((await migrate([])).stdout, `applied  ${name}\n`);
    assert.equal(findRunning(dataDir), undefined);
  });

  test('a data dir that no platform used is left alone', async () => {
    const { code, stderr } = await migrate([], { SVC_DATA_DIR: join(folder.path, 'none') });
    assert.deepEqual([code, /no platform was started with .*\.\/svc up/.test(stderr)], [1, true]);
  });
});
