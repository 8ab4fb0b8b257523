import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive, processStart } from '@svc/process-lock';
import { loadConfig } from './config.ts';
import { findRunningProcesses, writeRunning } from './running.ts';
import { stop } from './stop.ts';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

test('root ends no process that the user of a data dir names, unless it is that user’s or of the platform', {
  skip: !isRoot && 'needs root on Linux',
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-stop-'));
  const [owner, other] = [65_001, 65_002];
  chownSync(dataDir, owner, owner);
  const record = (pid: number): void =>
    writeFileSync(
      join(dataDir, 'running.json'),
      JSON.stringify({
        part: 'all',
        pid,
        started: processStart(pid),
        instance_id: 'one',
        since: new Date().toISOString(),
        database: 'embedded',
      }),
    );
  const config = loadConfig({ SVC_DATA_DIR: dataDir });
  const sleeper = async (uid: number) => {
    const child = spawn('sleep', ['600'], { uid, gid: uid, stdio: 'ignore' });
    await once(child, 'spawn');
    return child;
  };
  const [foreign, own] = [await sleeper(other), await sleeper(owner)];
  try {
    record(foreign.pid ?? 0);
    await assert.rejects(stop(config), /no process of the platform: nothing was done to it/);
    assert.ok(isAlive(foreign.pid ?? 0));
    record(own.pid ?? 0);
    assert.deepEqual((await stop(config)).stopped, [{ part: 'all', pid: own.pid }]);
  } finally {
    foreign.kill('SIGKILL');
    own.kill('SIGKILL');
    rmSync(dataDir, { recursive: true });
  }
});

/** A process that looks like a start on a data dir, and belongs to its user. */
async function starting(dataDir: string) {
  const own = isRoot ? { uid: 65_001, gid: 65_001 } : {};
  if (isRoot) chownSync(dataDir, 65_001, 65_001);
  const child = spawn('sh', ['-c', 'read line', 'up'], { ...own, stdio: ['pipe', 'ignore', 'ignore'] });
  await once(child, 'spawn');
  return child;
}

test('a start under way is waited for, with words, and then stopped: it is not left to run after the stop', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-stop-'));
  const config = loadConfig({ SVC_DATA_DIR: dataDir });
  const child = await starting(dataDir);
  try {
    const pid = child.pid ?? 0;
    const started = processStart(pid);
    writeFileSync(join(dataDir, 'start.lock'), JSON.stringify({ pid, started, nonce: 'x' }));
    const said: string[] = [];
    const stopping = stop(config, (line) => {
      said.push(line);
      // It has its database, and runs a moment later.
      rmSync(join(dataDir, 'start.lock'));
      const since = new Date().toISOString();
      const about = { part: 'all', pid, started, instance_id: 'one', since, database: 'embedded' };
      writeFileSync(join(dataDir, 'running.json'), JSON.stringify(about));
    });
    assert.deepEqual((await stopping).stopped, [{ part: 'all', pid }]);
    assert.match(said.join(), new RegExp(`a start is under way, pid ${pid}`));
    assert.ok(!isAlive(pid) || processStart(pid) === undefined);
  } finally {
    child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true });
  }
});

test('a start that fails meanwhile, and a lock that was left, are no more to wait for', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-stop-'));
  const config = loadConfig({ SVC_DATA_DIR: dataDir });
  const child = await starting(dataDir);
  try {
    const pid = child.pid ?? 0;
    writeFileSync(join(dataDir, 'start.lock'), JSON.stringify({ pid, started: processStart(pid), nonce: 'x' }));
    const said: string[] = [];
    const stopping = stop(config, (line) => {
      said.push(line);
      child.kill('SIGKILL');
    });
    assert.deepEqual((await stopping).stopped, []);
    assert.equal(said.length, 1);
    // The same file names a process that is gone.
    assert.deepEqual((await stop(config, (line) => said.push(line))).stopped, []);
    assert.equal(said.length, 1);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

test('in a copy of a data dir nothing of the one that runs is found, and nothing is stopped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-stop-'));
  const [dataDir, copy] = [join(folder, 'own'), join(folder, 'copy')];
  mkdirSync(dataDir);
  const since = new Date().toISOString();
  const forget = writeRunning(dataDir, { part: 'all', instance_id: 'one', since, database: 'embedded' });
  try {
    cpSync(dataDir, copy, { recursive: true });
    assert.deepEqual(
      findRunningProcesses(dataDir).map(({ pid }) => pid),
      [process.pid],
    );
    assert.deepEqual(findRunningProcesses(copy), []);
    // It would end this process.
    assert.deepEqual((await stop(loadConfig({ SVC_DATA_DIR: copy }))).stopped, []);
    renameSync(dataDir, `${dataDir}-moved`);
    assert.equal(findRunningProcesses(`${dataDir}-moved`).length, 1, 'the same folder under another name');
  } finally {
    forget();
    rmSync(folder, { recursive: true });
  }
});
