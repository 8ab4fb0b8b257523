import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { http } from '../apps/server/src/testing.ts';
import { freePort, killAll, noSandboxes, run, startPlatform, temporaryFolder } from './platform.ts';

after(killAll);

test('a copy of a data dir does nothing by itself while the first one is there, says so, and goes on once it is confirmed', async () => {
  await using folder = temporaryFolder();
  const [first, second] = [join(folder.path, 'first'), join(folder.path, 'second')];
  const living = await startPlatform(first, await freePort(), noSandboxes);
  const trigger = { type: 'interval', every_s: 3600 };
  const body = { name: 'hourly', kind: 'agent', spec: { prompt: 'x' }, trigger };
  const made = await http(living.url, '/v1/schedules', { key: living.key, method: 'POST', body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await living.end();
  execFileSync('cp', ['-a', first, second]);
  const again = await startPlatform(first, await freePort(), noSandboxes);
  const copy = await startPlatform(second, await freePort(), noSandboxes);
  try {
    assert.match(copy.output(), /this is a copy of the platform in .*first, which is still there/);
    assert.doesNotMatch(again.output(), /this is a copy/);
    const doctor = await run(['doctor', '--json', '--data-dir', second]);
    assert.match(doctor.stdout, /this is a copy of the platform in/);
    const seen = await http(copy.url, '/v1/schedules', { key: living.key });
    assert.match(JSON.stringify(seen.body), /hourly/);
  } finally {
    await Promise.all([copy.end(), again.end()]);
  }
  const confirmed = await run(['restore', 'confirm', '--drop', '--json', '--data-dir', second]);
  assert.equal(confirmed.code, 0, confirmed.stderr);
  assert.match(JSON.parse(confirmed.stdout).copy_of, /first$/);
  const own = await startPlatform(second, await freePort(), noSandboxes);
  assert.doesNotMatch(own.output(), /this is a copy/);
  await own.end();
});
