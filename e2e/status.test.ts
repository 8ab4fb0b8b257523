import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Given } from '../apps/server/src/config.ts';
import { readConfig } from '../apps/server/src/config.read.ts';
import { doctor } from '../apps/server/src/doctor.ts';
import { createLog } from '../apps/server/src/kernel/base/log.ts';
import { addressOfRunning, writeRunning } from '../apps/server/src/running.ts';
import { status, statusCode } from '../apps/server/src/status.ts';
import { stop } from '../apps/server/src/stop.ts';
import {
  freePort,
  killAll,
  layCluster,
  noSandboxes,
  type Platform,
  run,
  start,
  startPlatform,
  temporaryFolder,
} from './platform.ts';

const environment = (dataDir: string, more: Record<string, string> = {}) => ({
  ...noSandboxes,
  SVC_DATA_DIR: dataDir,
  ...more,
});
/** The settings that a command finds which is told the data dir alone; these commands run in this process. */
const configOf = (dataDir: string, running?: (dataDir: string) => Given, more: Given = {}) =>
  readConfig(environment(dataDir, more), running).config;
const statusOf = async (dataDir: string) => {
  const found = await status(configOf(dataDir));
  return { code: statusCode(found), ...found };
};
const checkOf = async (what: string, dataDir: string, more: Given = {}) => {
  const checks = await doctor(configOf(dataDir, addressOfRunning, more), createLog('silent'));
  return checks.find(({ name }) => name === what) ?? assert.fail(`no check ${what}`);
};
const stopOf = (dataDir: string) => stop(configOf(dataDir));

describe('which platform runs', () => {
  const folder = temporaryFolder();
  const images = join(folder.path, 'images');
  /** One that commands find. */
  let found: Platform;
  before(async () => {
    const settings = { ...noSandboxes, SVC_SANDBOX_IMAGES: images };
    found = await startPlatform(join(folder.path, 'found'), await freePort(), settings);
  });
  after(async () => {
    killAll();
    await folder.remove();
  });

  test('running.json is there while it runs, readable by its owner alone', async () => {
    const file = join(found.dataDir, 'running.json');
    const written = JSON.parse(readFileSync(file, 'utf8'));
    const health = await fetch(`${found.url}/health`);
    assert.deepEqual([written.port, written.instance_id], [found.port, health.headers.get('x-svc-instance')]);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    // `svc` becomes Node.js: one process, one pid.
    assert.equal(written.pid, found.process.pid);
  });

  test('a command beside it makes links that lead to where it runs', async () => {
    const { dataDir, port } = found;
    const { stdout } = await run(['accounts', 'invite', '--email', 'ana@example.com', '--json'], environment(dataDir));
    assert.equal(new URL(JSON.parse(stdout).url).port, String(port));
    const { stdout: looked } = await run(['doctor', '--json'], environment(dataDir));
    const signIn = JSON.parse(looked).checks.find(({ name }: { name: string }) => name === 'sign-in');
    assert.ok(signIn.found.includes(`:${port}/auth`), signIn.found);
  });

  test('host and session commands in another terminal ask the platform of the data dir, on whatever port it runs', async () => {
    const own = { SVC_DATA_DIR: found.dataDir, SVC_API_KEY: found.key };
    const listed = await run(['host', 'list', '--json'], own);
    assert.deepEqual([listed.code, listed.stderr], [0, '']);
    const elsewhere = `http://127.0.0.1:${await freePort()}`;
    assert.match(
      (await run(['session', 'list'], { ...own, SVC_BASE_URL: elsewhere })).stderr,
      new RegExp(`cannot reach ${elsewhere}`),
    );
    // Where none runs.
    const dataDir = join(folder.path, 'none');
    const port = await freePort();
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'settings.env'), `SVC_PORT=${port}\n`, { mode: 0o600 });
    assert.match(
      (await run(['host', 'list'], { ...own, SVC_DATA_DIR: dataDir })).stderr,
      new RegExp(`cannot reach http://localhost:${port}\\b`),
    );
  });

  test('images list in another terminal looks into the image folder of the platform that runs', async () => {
    const [digest, image] = [`sha256:${'a'.repeat(64)}`, join(images, 'a'.repeat(64))];
    mkdirSync(join(image, 'rootfs'), { recursive: true });
    const about = { template: 'svc-base', digest, recipe: 'r', bytes: 1, built_at: '2026-01-01T00:00:00Z' };
    writeFileSync(join(image, 'image.json'), JSON.stringify(about));
    const { stdout } = await run(['images', 'list', '--json'], environment(found.dataDir));
    assert.deepEqual(
      JSON.parse(stdout).stored.map((each: { digest: string }) => each.digest),
      [digest],
    );
  });

  test('a command in another terminal does not take the built-in database for the one that the platform uses', async (context) => {
    const file = join(found.dataDir, 'running.json');
    const written = readFileSync(file, 'utf8');
    context.after(() => writeFileSync(file, written));
    writeFileSync(file, written.replace('"embedded"', '"url"'));
    const listed = await run(['keys', 'list', '--email', 'owner@localhost'], environment(found.dataDir));
    assert.equal(listed.code, 1);
    assert.match(listed.stderr, /uses another database: set SVC_DATABASE_URL here too, or once in .*settings\.env\n$/);
  });

  test('two gateways on one data dir are both told, and one that ends takes back its own alone', async () => {
    const { dataDir } = found;
    const second = await startPlatform(dataDir, await freePort());
    const urls = async () => (await statusOf(dataDir)).processes.map(({ url }) => url);
    assert.deepEqual(await urls(), [found.url, second.url]);
    await second.end();
    assert.deepEqual(await urls(), [found.url]);
  });

  test('two on one machine are never mistaken for each other, though neither port is named; a settings file gives commands theirs, environment and flags win', async () => {
    const dataDir = join(folder.path, 'other');
    layCluster(dataDir);
    mkdirSync(dataDir, { recursive: true });
    const [inFile, inEnvironment, inFlag] = [await freePort(), await freePort(), await freePort()];
    const none = await freePort();
    const written = `SVC_PORT=${inFile}\nSVC_PREVIEW_PORT=${none}\nSVC_METRICS_PORT=${none}`;
    const text = `# settings\n\n${written}\nSVC_DATA_REGION = "north"\nSVC_PROT=1\n`;
    writeFileSync(join(dataDir, 'settings.env'), text, { mode: 0o600 });
    const more = { SVC_PREVIEW_PORT: String(inEnvironment), SVC_METRICS_PORT: String(none + 1) };
    const other = start(['up', '--metrics-port', String(inFlag)], environment(dataDir, more));
    const [, url = ''] = await other.printed(new RegExp(`svc is ready at (http://localhost:${inFile})\\b`));
    assert.match(other.output(), /SVC_PROT in .*settings\.env is no setting/);
    const isThere = (port: number) => fetch(`http://127.0.0.1:${port}/`).then(Boolean, () => false);
    const asked = [inEnvironment, inFlag, none, none + 1];
    assert.deepEqual(await Promise.all(asked.map(isThere)), [true, true, false, false]);

    for (const platform of [found, { dataDir, url, port: inFile }]) {
      const { code, processes } = await statusOf(platform.dataDir);
      assert.deepEqual([code, processes.length, processes[0]?.ready], [0, 1, true]);
      assert.deepEqual(processes[0]?.url, platform.url);
      const port = await checkOf('port', platform.dataDir);
      assert.equal(port.ok, true, JSON.stringify(port));
      assert.ok(port.found.includes(`:${platform.port}: the platform of this data dir`), port.found);
    }
    assert.equal(await other.end(), 0);
    assert.equal(existsSync(join(dataDir, 'running.json')), false);
    assert.match((await checkOf('port', dataDir)).found, new RegExp(`^${inFile} is free`));
    assert.match((await checkOf('port', dataDir, { SVC_PORT: String(none) })).found, new RegExp(`^${none} is free`));
    const taken = await checkOf('port', dataDir, { SVC_PORT: String(found.port) });
    assert.deepEqual([taken.ok, /the platform of another data dir/.test(taken.found)], [false, true]);
    const { code, stdout } = await run(['status', '--json'], environment(dataDir));
    assert.deepEqual([code, JSON.parse(stdout).running], [3, false]);
  });

  test('after kill -9 running.json counts for nothing, and the next process writes its own in its place', async () => {
    const { dataDir } = found;
    const file = join(dataDir, 'running.json');
    const written = JSON.parse(readFileSync(file, 'utf8'));
    await found.end('SIGKILL');
    assert.equal(existsSync(file), true);
    assert.equal((await statusOf(dataDir)).code, 3);
    // The pid given to another process, which lives.
    writeFileSync(file, JSON.stringify({ ...written, pid: process.pid }));
    assert.equal((await statusOf(dataDir)).code, 3);
    const since = new Date().toISOString();
    const forget = writeRunning(dataDir, { part: 'all', instance_id: 'next', since, database: 'embedded' });
    assert.deepEqual(
      (await statusOf(dataDir)).processes.map(({ pid, instance_id }) => [pid, instance_id]),
      [[process.pid, 'next']],
    );
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).pid, process.pid);
    forget();
    assert.equal(existsSync(file), false);
  });

  // The last: the one of this file was killed.
  test('stop after a kill -9 ends the database that was left, which a process of that number alone is', async () => {
    const { dataDir } = found;
    const file = join(dataDir, 'postgres', 'postmaster.pid');
    const text = readFileSync(file, 'utf8');
    const pid = Number(text.split('\n')[0]);
    // Its number would be another process's.
    writeFileSync(
      file,
      text.replace(/^(\d+\n.*\n)\d+/, (_, before: string) => `${before}1000000000`),
    );
    assert.deepEqual((await stopOf(dataDir)).stopped, []);
    process.kill(pid, 0);
    writeFileSync(file, text);
    const { stdout } = await run(['stop', '--json'], environment(dataDir));
    assert.deepEqual(JSON.parse(stdout), { stopped: [{ part: 'database', pid }], left: [] });
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });
});

test('every command begins its errors alike, in one line, and prints its own help', async () => {
  await using folder = temporaryFolder();
  const own = environment(join(folder.path, 'data'));
  for (const [words, said] of [
    ['keyz', "unknown command 'keyz' (Did you mean keys?)"],
    ['host list --wat', "unknown option '--wat'"],
    ['host list', 'no API key: give --key-file, SVC_API_KEY or --key'],
    ['session show', "missing required argument 'session'"],
    ['images build --wat', "unknown option '--wat'"],
    ['images export nothing file', 'no template is called nothing; there are'],
  ] as const) {
    const { stderr } = await run(words.split(' '), own);
    assert.ok(stderr.startsWith(`svc: ${said}`) && /^[^\n]+\n$/.test(stderr), stderr);
  }
  assert.match(
    (await run(['images', 'build', '--help'], own)).stdout,
    /^Usage: svc images build \[options\] <template>/,
  );
});

test('a line of a settings file that is none stops with its number, and is not repeated; the place of the file cannot be in it', async () => {
  await using folder = temporaryFolder();
  const write = (text: string): void => writeFileSync(join(folder.path, 'settings.env'), text);
  for (const [text, message] of [
    ['SVC_DATA_DIR=/elsewhere', /settings\.env: SVC_DATA_DIR says where this file is/],
    ['SVC_PORT=eighty', /^SVC_PORT: /],
  ] as const) {
    write(text);
    assert.throws(() => configOf(folder.path), { name: 'ConfigError', message });
  }
  write('SVC_PORT=1\nsecret-word');
  const { code, stderr } = await run(['status'], environment(folder.path));
  assert.equal(code, 2);
  assert.match(stderr, /^svc: .*settings\.env: line 2 must look like SVC_PORT=8080\n$/);
  assert.ok(!stderr.includes('secret-word'));
});
