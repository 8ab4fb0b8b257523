import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../apps/server/src/testing.ts';
import { freePort, killAll, noSandboxes, type Platform, run, startPlatform, temporaryFolder } from './platform.ts';

const svc = resolve(import.meta.dirname, '../svc');

describe('stop, logs, uninstall', () => {
  const folder = temporaryFolder();
  /** One whose output is piped, until it is stopped. */
  let platform: Platform;
  before(async () => {
    platform = await startPlatform(join(folder.path, 'piped'), await freePort());
  });
  after(async () => {
    killAll();
    await folder.remove();
  });

  test('logs shows the file that the output goes to, and says where it is when it cannot be read again', async () => {
    const dataDir = join(folder.path, 'data');
    const file = join(folder.path, 'svc.log');
    const { PATH = '', HOME = '' } = process.env;
    const output = openSync(file, 'a');
    const words = ['up', '--port', String(await freePort()), '--data-dir', dataDir];
    const written = spawn(svc, words, { env: { PATH, HOME, ...noSandboxes }, stdio: ['ignore', 'ignore', output] });
    try {
      const applied = /"msg":"migrations applied"/;
      // By its running.json the command finds the file.
      await until(() => existsSync(join(dataDir, 'running.json')) && applied.test(readFileSync(file, 'utf8')));
      assert.match((await run(['logs', '--data-dir', dataDir])).stdout, applied);
      const database = await run(['logs', '--database', '--data-dir', dataDir]);
      assert.equal(database.code, 0);
    } finally {
      await run(['stop', '--data-dir', dataDir]);
      written.kill();
    }
    const said = await run(['logs', '--data-dir', platform.dataDir]);
    assert.match(said.stderr, /piped to another program.*docker compose logs/);
    assert.match((await run(['logs', '--data-dir', dataDir])).stderr, /nothing runs on/);
  });

  test('stop waits until the platform has ended, and stopping what does not run is fine', async () => {
    const { code, stdout } = await run(['stop', '--json', '--data-dir', platform.dataDir]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout).stopped, [{ part: 'all', pid: platform.process.pid }]);
    assert.equal(platform.process.exitCode ?? (await platform.end()), 0);
    const again = await run(['stop', '--json', '--data-dir', platform.dataDir]);
    assert.deepEqual(JSON.parse(again.stdout), { stopped: [], left: [] });
  });

  test('uninstall tells what it would take away, and takes it away when asked to', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'master.key'), 'x');
    const told = await run(['uninstall', '--json', '--data-dir', dataDir]);
    const items = JSON.parse(told.stdout) as { where: string; goes: string }[];
    assert.deepEqual(
      items.filter(({ where }) => where === dataDir).map(({ goes }) => goes),
      ['with --data'],
    );
    assert.ok(existsSync(dataDir));
    // As an ordinary user: units, caches and the user svc are root's.
    const [uid, gid] = process.getuid?.() === 0 ? [65_534, 65_534] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    const nobody = { uid, gid };
    for (const path of [folder.path, dataDir, join(dataDir, 'master.key')]) chownSync(path, uid, gid);
    chmodSync(dataDir, 0o700);
    const other = join(folder.path, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'letters.txt'), 'mine');
    chownSync(other, uid, gid);
    const refused = await run(['uninstall', '--yes', '--data', '--data-dir', other], {}, nobody);
    assert.match(refused.stderr, /is no data dir of svc; nothing was removed/);
    assert.ok(existsSync(join(other, 'letters.txt')));
    const done = await run(['uninstall', '--yes', '--data', '--data-dir', dataDir], {}, nobody);
    assert.equal(done.code, 0, done.stderr);
    assert.ok(!existsSync(dataDir));
  });
});
