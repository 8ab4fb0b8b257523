import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ensurePostgres, findRunning, stopPostgres } from '../apps/server/src/postgres/embedded.ts';
import { isAlive } from '../apps/server/src/postgres/lock.ts';
import { until } from '../apps/server/src/testing.ts';
import { asked } from './looking.ts';
import {
  freePort,
  killAll,
  layCluster,
  noSandboxes,
  type Platform,
  run,
  startPlatform,
  temporaryFolder,
  usedDataDir,
} from './platform.ts';

const used = usedDataDir();
after(() => used[Symbol.asyncDispose]());

/**
 * Faults that make a start fail, at one point of it after the other: two in a first start, the others in a later one.
 */
const faults: Record<string, (dataDir: string) => Promise<Record<string, string>>> = {
  'a port that is in use': async (dataDir) => {
    layCluster(dataDir);
    return { SVC_PORT: '1', SVC_HOST: '203.0.113.1' };
  },
  'a schema of a newer version': async (dataDir) => {
    await used.lay(dataDir);
    const embedded = await ensurePostgres(dataDir);
    await asked(dataDir, "insert into kernel.migrations (name, checksum) values ('9999.kernel.future', 'x')");
    await stopPostgres(embedded);
    return {};
  },
  'another master key': async (dataDir) => {
    await used.lay(dataDir);
    return { SVC_MASTER_KEY: 'another master key of more than 32 characters' };
  },
  'a bus that does not answer': async (dataDir) => {
    await used.lay(dataDir);
    return { SVC_NATS_URL: 'nats://127.0.0.1:1' };
  },
  'a certificate that is missing': async (dataDir) => {
    await used.lay(dataDir);
    return { SVC_TLS_CERT: '/nowhere.pem', SVC_TLS_KEY: '/nowhere.pem' };
  },
  'a migration that fails in an empty database': async (dataDir) => {
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o711);
    const embedded = await ensurePostgres(dataDir);
    const { openDatabase } = await import('../apps/server/src/kernel/db/db.ts');
    const admin = openDatabase({ embedded, database: 'postgres' }, 1);
    await admin.unsafe('create database svc');
    await admin.end({ timeout: 1 });
    await asked(dataDir, 'create schema accounts');
    await stopPostgres(embedded);
    return {};
  },
};

describe('a start that fails', () => {
  after(killAll);

  for (const [what, prepare] of Object.entries(faults)) {
    test(`for ${what} leaves no database running`, async () => {
      await using folder = temporaryFolder();
      const dataDir = join(folder.path, 'data');
      const settings = await prepare(dataDir);
      const { code, stderr } = await run(['up'], { ...noSandboxes, SVC_PORT: '0', SVC_DATA_DIR: dataDir, ...settings });
      assert.ok(code > 0, stderr);
      assert.equal(findRunning(dataDir), undefined);
      assert.equal(existsSync(join(dataDir, 'postgres/postmaster.pid')), false);
    });
  }

  test('keeps the key of the owner for the next one, which shows it', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    layCluster(dataDir);
    const nowhere = { ...noSandboxes, SVC_PORT: '1', SVC_HOST: '203.0.113.1', SVC_DATA_DIR: dataDir };
    const { code, stderr } = await run(['up'], nowhere);
    assert.deepEqual([code, /SVC_HOST: 203\.0\.113\.1 is no address/.test(stderr)], [2, true], stderr);
    const platform = await startPlatform(dataDir, await freePort());
    const answer = await fetch(`${platform.url}/v1/keys`, { headers: { authorization: `Bearer ${platform.key}` } });
    assert.equal(answer.status, 200, platform.output());
    await platform.end();
  });
});

describe('a platform that runs', () => {
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

  test("tries again, with pauses, a database that does not come back; the log says Postgres's own reason, once", async () => {
    const cluster = join(dataDir, 'postgres');
    const control = join(cluster, 'global/pg_control');
    const pid = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
    renameSync(control, `${control}.kept`);
    process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(pid));
    const failures = (): number => readFileSync(join(dataDir, 'postgres.log'), 'utf8').split('pg_control').length - 1;
    await platform.printed(/the embedded Postgres did not start/);
    await until(() => failures() >= 3);
    const lines = platform.output().split('\n');
    assert.equal(lines.filter((line) => line.includes('the embedded Postgres did not start')).length, 1);
    assert.match(platform.output(), /could not (find|open).*(database system|pg_control)/);
    renameSync(`${control}.kept`, control);
    await platform.printed(/the embedded Postgres runs again/);
    await until(async () => (await fetch(`${platform.url}/health/ready`)).status === 200);
    // Each loop that needs the database says so, once for each way in which it fails: what matters is that none goes on.
    const said = Map.groupBy(platform.output().split('\n'), (line) => /"loop":"([^"]+)"/.exec(line)?.[1] ?? 'none');
    const loudest = [...said]
      .map(([loop, lines]) => ({ loop, lines: lines.length }))
      .filter(({ loop, lines }) => lines > (loop === 'none' ? 25 : 4));
    assert.deepEqual(loudest, [], platform.output().slice(0, 20_000));
  });

  test('ends with the reason when it was frozen while its master key was rotated, and starts with the new key', async () => {
    const inTheMidst = () =>
      asked(dataDir, `select pid from pg_stat_activity where application_name like 'svc %' and state like 'idle in%'`);
    // Not while it holds rows: whoever rotates would be told to end it.
    await until(async () => {
      platform.process.kill('SIGSTOP');
      if ((await inTheMidst()).length === 0) return true;
      platform.process.kill('SIGCONT');
      return false;
    });
    const settings = { ...noSandboxes, SVC_DATA_DIR: dataDir };
    // Its lease counts for a while, and each look is a connection.
    await until(async () => {
      await delay(500);
      return (await asked(dataDir, 'select id from kernel.live_gateways_view')).length === 0;
    });
    const rotated = await run(['rotate-master-key'], settings);
    assert.equal(rotated.code, 0, rotated.stderr);
    const ended = once(platform.process, 'close');
    platform.process.kill('SIGCONT');
    assert.deepEqual(await ended, [1, null]);
    assert.match(platform.output(), /^svc: the master key was rotated while this process was frozen/m);
    const again = await startPlatform(dataDir, await freePort());
    const headers = { authorization: `Bearer ${platform.key}` };
    assert.equal((await fetch(`${again.url}/v1/devices`, { headers })).status, 200);
    assert.equal(await again.end(), 0);
  });
});
