import assert from 'node:assert/strict';
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../apps/server/src/testing.ts';
import { enterableByAll, packageRoot } from '../apps/server/src/postgres/datadir.ts';
import { asked, changes, filesOf, looks, looksOfFeatures, schemaOf, ways } from './looking.ts';
import {
  freePort,
  killAll,
  noSandboxes,
  type Platform,
  run,
  runHere,
  startPlatform,
  temporaryFolder,
} from './platform.ts';

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;

/** A data dir in a folder that other users cannot enter: as root its cluster is placed elsewhere. */
function privateFolder() {
  const path = mkdtempSync(join(tmpdir(), 'svc-private-'));
  const dataDir = join(path, 'data');
  const remove = (): void => {
    const link = join(dataDir, 'postgres');
    const linked = lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink();
    if (linked) rmSync(dirname(readlinkSync(link)), { recursive: true, force: true });
    rmSync(path, { recursive: true, force: true });
  };
  return { dataDir, remove };
}

describe('commands beside a running platform', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  let platform: Platform;

  before(async () => {
    platform = await startPlatform(dataDir, await freePort());
  });
  after(async () => {
    await platform.end();
    killAll();
    await folder.remove();
  });
  const settings = () => ({ ...noSandboxes, SVC_DATA_DIR: dataDir, SVC_PORT: String(platform.port) });

  for (const words of looks) {
    test(`"svc ${words.join(' ')}" changes no mode, no file and no migration`, async () => {
      const before = [filesOf(dataDir), await schemaOf(dataDir)];
      await run(words, settings());
      assert.deepEqual([filesOf(dataDir), await schemaOf(dataDir)], before);
    });
  }

  for (const words of looksOfFeatures) {
    test(`"svc ${words.join(' ')}" changes no mode, no file and no migration`, async () => {
      const before = [filesOf(dataDir), await schemaOf(dataDir)];
      await runHere(dataDir, ...words);
      assert.deepEqual([filesOf(dataDir), await schemaOf(dataDir)], before);
    });
  }

  test('commands that change something change it in the database alone: no mode, no file, no migration', async () => {
    const before = [filesOf(dataDir), await schemaOf(dataDir)];
    const [first, last] = [changes.at(0), changes.at(-1)];
    for (const words of changes) {
      if (words === first || words === last) {
        const { code, stderr } = await run(words, settings());
        assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
      } else await runHere(dataDir, ...words);
      assert.deepEqual([filesOf(dataDir), await schemaOf(dataDir)], before, words.join(' '));
    }
  });

  test('an ordinary user who tries them on a data dir that is not theirs changes nothing, and is told why', {
    skip: !isRoot
      ? 'only root has a data dir that others cannot read'
      : !enterableByAll(packageRoot) && 'other users cannot enter this clone',
  }, async () => {
    const before = [filesOf(dataDir), await schemaOf(dataDir)];
    for (const words of [['status'], ['doctor'], ['keys', 'list'], ...changes.slice(0, 1)]) {
      const { code, stderr } = await run(words, settings(), { uid: nobody, gid: nobody });
      assert.doesNotMatch(stderr, /^ +at /m, `${words.join(' ')}: ${stderr}`);
      if (!['status', 'doctor'].includes(words[0] as string)) assert.notEqual(code, 0, words.join(' '));
      assert.deepEqual([filesOf(dataDir), await schemaOf(dataDir)], before, words.join(' '));
    }
    assert.equal((await fetch(`${platform.url}/health/ready`)).status, 200);
  });

  test('a command of a newer version applies no migration: it names the command that does', async () => {
    const [last] = (await asked(dataDir, 'select * from kernel.migrations order by name desc limit 1')) as {
      name: string;
      checksum: string;
    }[];
    assert.ok(last);
    await asked(dataDir, `delete from kernel.migrations where name = '${last.name}'`);
    const listed = await run(['keys', 'list', '--email', 'owner@localhost'], settings());
    assert.equal(listed.code, 1);
    assert.match(
      listed.stderr,
      new RegExp(`^svc: the database lacks migration ${last.name} .*\\./svc migrate.*\\./svc up\n$`),
    );
    const { stdout } = await run(['doctor', '--json'], settings());
    const schema = JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'schema');
    assert.match(schema.found, /^1 migrations? waits? for the next/);
    assert.deepEqual(await asked(dataDir, `select 1 from kernel.migrations where name = '${last.name}'`), []);
    await asked(dataDir, `insert into kernel.migrations (name, checksum) values ('${last.name}', '${last.checksum}')`);
  });

  test('an older version does not start on a newer schema, says so, and leaves the running one alone', async () => {
    await asked(dataDir, "insert into kernel.migrations (name, checksum) values ('9999.kernel.future', 'x')");
    const older = await run(['up', '--port', '0'], { ...noSandboxes, SVC_DATA_DIR: dataDir });
    await asked(dataDir, "delete from kernel.migrations where name = '9999.kernel.future'");
    assert.equal(older.code, 1);
    assert.match(older.stderr, /^svc: a newer version of svc has changed this database \(9999\.kernel\.future\).*\n$/);
    assert.equal((await fetch(`${platform.url}/health/ready`)).status, 200);
  });

  test('a closed data dir is opened again before the database needs it, and after it was killed', {
    skip: !isRoot && 'only root runs the database as another user',
  }, async () => {
    chmodSync(dataDir, 0o700);
    await until(() => (lstatSync(dataDir).mode & 0o777) === 0o771);
    const pid = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
    process.kill(pid, 'SIGKILL');
    chmodSync(dataDir, 0o700);
    // Ready may be said of the server that is ending.
    await until(() => (lstatSync(dataDir).mode & 0o777) === 0o771);
    await until(async () => (await fetch(`${platform.url}/health/ready`)).status === 200);
  });
});

describe('commands without a platform', () => {
  test('one that looks at a data dir that was never used makes none, and says how to start', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    const said = new Map<string, [code: number, stderr: string]>();
    for (const words of ways) {
      const { code, stderr } = await run(words, { ...noSandboxes, SVC_DATA_DIR: dataDir });
      said.set(words.join(' '), [code, stderr]);
    }
    assert.equal(existsSync(dataDir), false);
    const [code, stderr = ''] = said.get('keys list') ?? [];
    assert.deepEqual([code, /no platform was started with .*\.\/svc up/.test(stderr)], [1, true]);
  });

  test('those that look leave modes and files as they were, also where the cluster is placed elsewhere', async (t) => {
    const { dataDir, remove } = privateFolder();
    t.after(remove);
    mkdirSync(dataDir);
    const platform = await startPlatform(dataDir, await freePort());
    if (isRoot) assert.ok(lstatSync(join(dataDir, 'postgres')).isSymbolicLink());
    const running = filesOf(dataDir);
    for (const words of [['doctor'], ['keys', 'list']]) await run(words, { ...noSandboxes, SVC_DATA_DIR: dataDir });
    assert.deepEqual(filesOf(dataDir), running, 'while it runs');
    await platform.end();
    const ended = filesOf(dataDir);
    const modeBefore = lstatSync(dataDir).mode;
    for (const words of ways) {
      const { code, stderr } = await run(words, { ...noSandboxes, SVC_DATA_DIR: dataDir });
      if (!['doctor', 'status'].includes(words[0] ?? '')) assert.equal(code, 0, stderr);
    }
    // The lock of the database's start came and went.
    assert.deepEqual(filesOf(dataDir), { ...ended, '': filesOf(dataDir)[''] }, 'once it is down');
    assert.equal(lstatSync(dataDir).mode, modeBefore);
  });
});
