import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive, processStart } from '@svc/process-lock';
import { loadConfig } from './config.ts';
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
