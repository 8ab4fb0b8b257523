import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { http } from '../apps/server/src/testing.ts';
import { freePort, killAll, noSandboxes, run, start, startPlatform, temporaryFolder } from './platform.ts';

after(killAll);

test('a copy of a data dir, however it is started, does nothing by itself while the first one is there, says so, and goes on once it is confirmed', async () => {
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
  const before = await stateOf(again.url, living.key);
  const copy = await startPlatform(second, await freePort(), noSandboxes);
  try {
    assert.match(copy.output(), isCopy);
    assert.doesNotMatch(again.output(), /this is a copy/);
    const doctor = await run(['doctor', '--json', '--data-dir', second]);
    assert.match(doctor.stdout, /this is a copy of the platform in/);
    assert.doesNotMatch(doctor.stdout, /--only worker/);
    const seen = await http(copy.url, '/v1/schedules', { key: living.key });
    assert.match(JSON.stringify(seen.body), /hourly/);
  } finally {
    await copy.end();
  }
  const link = join(folder.path, 'by-another-name');
  symlinkSync(second, link);
  for (const [dir, only] of [
    [second, 'gateway'],
    [second, 'worker'],
    [second, 'relay'],
    [link, undefined],
  ] as const) {
    const port = String(await freePort());
    const settings = { ...noSandboxes, SVC_PORT: port, SVC_METRICS_PORT: String(await freePort()) };
    const part = start(['up', ...(only ? ['--only', only] : []), '--data-dir', dir], settings);
    await part.printed(isCopy);
    await part.end();
  }
  // Copied under way: whether it starts or not, the first one goes on.
  const hot = join(folder.path, 'hot');
  spawnSync('cp', ['-a', first, hot]);
  const port = String(await freePort());
  const late = start(['up', '--port', port, '--data-dir', hot], noSandboxes);
  const said = await late.printed(isCopy).then(
    () => 'a copy',
    (error: Error) => error.message,
  );
  assert.match(said, /^(?:a copy|ended with)/);
  await late.end();
  assert.deepEqual(await stateOf(again.url, living.key), before);
  const early = await run(['restore', 'confirm', '--drop', '--data-dir', second]);
  assert.match(early.stderr, /first still runs: end it first/);
  await again.end();
  const confirmed = await run(['restore', 'confirm', '--drop', '--json', '--data-dir', second]);
  assert.equal(confirmed.code, 0, confirmed.stderr);
  assert.match(JSON.parse(confirmed.stdout).copy_of, /first$/);
  const moved = join(folder.path, 'moved');
  renameSync(first, moved);
  for (const dir of [second, moved]) {
    const own = await startPlatform(dir, await freePort(), noSandboxes);
    assert.doesNotMatch(own.output(), /this is a copy/, dir);
    await own.end();
  }
});

const isCopy = /this is a copy of the platform in .*first, which is still there/;

/** What a platform has, as far as a copy could change it. */
async function stateOf(url: string, key: string): Promise<unknown> {
  const { body } = await http(url, '/v1/schedules', { key });
  const ready = await http(url, '/health/ready', {});
  return { schedules: body, ready: ready.status };
}
