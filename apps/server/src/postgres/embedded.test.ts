import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { testDataDir } from '../config.ts';
import { until } from '../testing.ts';
import { openDatabase } from '../kernel/db/db.ts';
import { type EmbeddedPostgres, ensurePostgres, findRunning, stopPostgres } from './embedded.ts';
import { isAlive, withFileLock } from './lock.ts';

const asRoot = process.getuid?.() === 0;

async function query<T>(embedded: EmbeddedPostgres, text: string): Promise<T> {
  const sql = openDatabase({ embedded, database: 'postgres' }, 1);
  try {
    return (await sql.unsafe(text))[0] as T;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** The server of the other tests. */
const shared = (): EmbeddedPostgres => findRunning(testDataDir() ?? '') as EmbeddedPostgres;

/** Ends the server as a power cut does, and waits until it is gone. */
async function kill(embedded: EmbeddedPostgres): Promise<void> {
  process.kill(embedded.pid, 'SIGKILL');
  await until(() => !isAlive(embedded.pid));
}

describe('embedded Postgres', () => {
  let root: string;
  let dataDir: string;
  let running: EmbeddedPostgres;

  const folder = (name: string): string => {
    const path = join(root, name);
    mkdirSync(path, { mode: 0o711 });
    chmodSync(path, 0o711);
    return path;
  };

  before(async () => {
    root = mkdtempSync(join(tmpdir(), 'svc-embedded-'));
    chmodSync(root, 0o711);
    dataDir = folder('data');
  });
  after(async () => {
    const left = findRunning(dataDir);
    // While the tests below fail it may be mistaken for the server that all tests share.
    if (left && left.pid !== shared().pid) await stopPostgres(left);
    rmSync(root, { recursive: true, force: true });
  });

  test('ten that ensure it at once, in two processes, get one server', async () => {
    const script = `import { ensurePostgres } from ${JSON.stringify(join(import.meta.dirname, 'embedded.ts'))};
      const all = await Promise.all(Array.from({ length: 5 }, () => ensurePostgres(${JSON.stringify(dataDir)})));
      console.log(JSON.stringify(all.map(({ pid }) => pid)));`;
    const other = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    other.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    const [here] = await Promise.all([
      Promise.all(Array.from({ length: 5 }, () => ensurePostgres(dataDir))),
      once(other, 'close'),
    ]);
    running = here[0] as EmbeddedPostgres;
    const there = JSON.parse(text) as number[];
    assert.deepEqual(new Set([...here.map(({ pid }) => pid), ...there]), new Set([running.pid]));
    assert.deepEqual(findRunning(dataDir), running);
  });

  test('outlives the process that started it and is adopted by the next', async (t) => {
    const own = folder('adopted');
    const script = `import { ensurePostgres } from ${JSON.stringify(join(import.meta.dirname, 'embedded.ts'))};
      console.log((await ensurePostgres(${JSON.stringify(own)})).pid); process.kill(process.pid, 'SIGKILL');`;
    const starter = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    starter.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await once(starter, 'close');
    const adopted = await ensurePostgres(own);
    t.after(() => stopPostgres(adopted));
    assert.equal(adopted.pid, Number(text));
    assert.equal((await query<{ one: number }>(adopted, 'select 1 as one')).one, 1);
  });

  test('keeps what was committed: fsync, full_page_writes and synchronous_commit are on, checksums too', async () => {
    const rows = await query<Record<string, string>>(
      running,
      `select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
        current_setting('synchronous_commit') as commit, current_setting('listen_addresses') as addresses`,
    );
    assert.deepEqual({ ...rows }, { fsync: 'on', pages: 'on', commit: 'on', addresses: '' });
  });

  test('its socket is closed to other users', () => {
    const { mode } = lstatSync(running.socketDir);
    assert.equal(mode & 0o077, 0);
  });

  test('killed with clients connected it is started again, and nothing committed is lost', async () => {
    await query(running, 'create table if not exists kept (n int)');
    const clients = openDatabase({ embedded: running, database: 'postgres' }, 5);
    for (let round = 1; round <= 3; round++) {
      await Promise.all(Array.from({ length: 5 }, () => clients`select 1`.catch(() => {})));
      await query(running, `insert into kept values (${round})`);
      await kill(running);
      running = await ensurePostgres(dataDir);
      assert.equal((await query<{ n: number }>(running, 'select count(*)::int as n from kept')).n, round);
    }
    await clients.end({ timeout: 1 });
  });

  for (const [what, pidOf] of [
    ['another program', () => process.pid],
    ['the Postgres of another data directory', (others: EmbeddedPostgres) => others.pid],
  ] as const) {
    test(`lock files that outlived a crash, whose pid is now ${what}'s, keep it from nothing`, async () => {
      const others = shared();
      const pidFile = join(dataDir, 'postgres', 'postmaster.pid');
      const lines = readFileSync(pidFile, 'utf8').split('\n');
      const socketLock = join(running.socketDir, '.s.PGSQL.5432.lock');
      const words = readFileSync(socketLock, 'utf8').split('\n');
      await kill(running);
      // Beside the socket stands the same number.
      writeFileSync(socketLock, [String(pidOf(others)), ...words.slice(1)].join('\n'));
      writeFileSync(pidFile, [String(pidOf(others)), ...lines.slice(1)].join('\n'));
      assert.equal(findRunning(dataDir), undefined, 'it is not taken for the running server');
      running = await ensurePostgres(dataDir);
      assert.notEqual(running.pid, others.pid);
      assert.equal((await query<{ one: number }>(running, 'select 1 as one')).one, 1);
      assert.ok(isAlive(others.pid), 'and the other is left alone');
    });
  }

  test('a path too long for a socket gets its socket elsewhere, removed at the stop', async () => {
    const long = folder('d'.repeat(100));
    const embedded = await ensurePostgres(long);
    assert.ok(!embedded.socketDir.startsWith(long));
    assert.equal((await query<{ one: number }>(embedded, 'select 1 as one')).one, 1);
    assert.deepEqual(await ensurePostgres(long), embedded);
    await stopPostgres(embedded);
    assert.equal(existsSync(embedded.socketDir), false);
    assert.equal(findRunning(long), undefined);
  });

  test('as root a data directory below a folder that others cannot enter works, now and the next time', {
    skip: !asRoot && 'only root runs the database as another user',
  }, async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'svc-private-'));
    assert.equal(lstatSync(home).mode & 0o077, 0);
    const inside = join(home, 'data');
    mkdirSync(inside, { mode: 0o711 });
    const embedded = await ensurePostgres(inside);
    const cluster = readlinkSync(join(inside, 'postgres'));
    t.after(async () => {
      const left = findRunning(inside);
      if (left) await stopPostgres(left);
      rmSync(dirname(cluster), { recursive: true, force: true });
      rmSync(home, { recursive: true, force: true });
    });
    await query(embedded, 'create table kept (n int)');
    await stopPostgres(embedded);
    const copy = join(home, 'copy');
    mkdirSync(copy, { mode: 0o711 });
    symlinkSync(cluster, join(copy, 'postgres'));
    await assert.rejects(ensurePostgres(copy), /is a copy of .*data/);
    unlinkSync(join(copy, 'postgres'));
    symlinkSync('/nowhere/c-x/postgres', join(copy, 'postgres'));
    await assert.rejects(ensurePostgres(copy), /was kept in \/nowhere\/c-x, which is not here/);
    const again = await ensurePostgres(inside);
    assert.equal((await query<{ n: number }>(again, 'select count(*)::int as n from kept')).n, 0);
  });

  test('a lock whose holder died is broken, one whose holder lives is waited for', async () => {
    const file = join(root, 'some.lock');
    const gone = spawn(process.execPath, ['-e', '']);
    await once(gone, 'exit');
    writeFileSync(file, String(gone.pid));
    assert.equal(await withFileLock(file, 5_000, () => Promise.resolve('ran')), 'ran');
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 8 }, () =>
        withFileLock(file, 10_000, async () => {
          most = Math.max(most, ++inside);
          await new Promise((resolve) => setImmediate(resolve));
          inside -= 1;
        }),
      ),
    );
    assert.equal(most, 1);
    writeFileSync(file, String(process.pid));
    await assert.rejects(
      withFileLock(file, 50, () => Promise.resolve()),
      /held by another process/,
    );
    writeFileSync(file, '');
    await assert.rejects(
      withFileLock(file, 50, () => Promise.resolve()),
      /remove it/,
    );
  });
});
