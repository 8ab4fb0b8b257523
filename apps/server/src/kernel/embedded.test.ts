import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openDataDir, readOrCreateSecret } from './datadir.ts';
import { openDatabase } from './db.ts';
import { type EmbeddedPostgres, ensurePostgres, findRunning, stopPostgres } from './embedded.ts';
import { isAlive } from './lock.ts';
import { until } from '../testing.ts';

describe('embedded Postgres', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pg-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const newDataDir = (...below: string[]) => openDataDir(join(folder, ...below), true);

  async function value(embedded: EmbeddedPostgres, query: string): Promise<unknown> {
    const sql = openDatabase({ embedded, database: 'postgres' }, 1);
    const [row] = await sql.unsafe(query);
    await sql.end();
    return Object.values(row ?? {})[0];
  }

  test('is one server, whoever asks first, with fsync on and no network port', async () => {
    const dataDir = newDataDir('one');
    const all = await Promise.all(Array.from({ length: 6 }, () => ensurePostgres(dataDir)));
    assert.equal(new Set(all.map((embedded) => embedded.pid)).size, 1);
    const embedded = all[0] as EmbeddedPostgres;
    assert.equal(await value(embedded, 'show fsync'), 'on');
    assert.equal(await value(embedded, 'show listen_addresses'), '');
    assert.match(String(await value(embedded, 'show server_version')), /^18\./);
    await stopPostgres(embedded);
    assert.equal(findRunning(dataDir), undefined);
  });

  test('killed with -9 is started again with what was committed', async () => {
    const dataDir = newDataDir('killed');
    const first = await ensurePostgres(dataDir);
    await value(first, 'create table kept as select 1 as n');
    process.kill(first.pid, 'SIGKILL');
    await until(() => !isAlive(first.pid));
    const second = await ensurePostgres(dataDir);
    assert.notEqual(second.pid, first.pid);
    assert.equal(await value(second, 'select n from kept'), 1);
    await stopPostgres(second);
  });

  test('starts although its pid file names a process that is something else now', async () => {
    const dataDir = newDataDir('stale');
    const first = await ensurePostgres(dataDir);
    const file = join(dataDir, 'postgres/postmaster.pid');
    const text = readFileSync(file, 'utf8');
    await stopPostgres(first);
    const other = spawn('sleep', ['60']);
    await once(other, 'spawn');
    writeFileSync(file, text.replace(/^\d+/, String(other.pid)));
    const second = await ensurePostgres(dataDir);
    assert.equal(await value(second, 'select 1'), 1);
    await stopPostgres(second);
    other.kill('SIGKILL');
  });

  test('works below a path that is too long for a socket', async () => {
    const embedded = await ensurePostgres(newDataDir('x'.repeat(60), 'y'.repeat(60)));
    assert.equal(await value(embedded, 'select 1'), 1);
    await stopPostgres(embedded);
  });

  test('works for root below a folder that its user cannot enter', {
    skip: process.getuid?.() !== 0 && 'needs root',
  }, async () => {
    mkdirSync(join(folder, 'closed'), { mode: 0o700 });
    const dataDir = newDataDir('closed', 'data');
    const embedded = await ensurePostgres(dataDir);
    assert.equal(await value(embedded, 'select 1'), 1);
    await stopPostgres(embedded);
    const again = await ensurePostgres(dataDir);
    assert.equal(again.socketDir, embedded.socketDir);
    await stopPostgres(again);
  });

  test('secrets are created once, whoever is first, and stay', () => {
    const file = join(folder, 'secret');
    const secrets = Array.from({ length: 5 }, () => readOrCreateSecret(file));
    assert.equal(new Set(secrets).size, 1);
    assert.ok((secrets[0] ?? '').length >= 43);
  });
});
