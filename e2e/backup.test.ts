import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { openDatabase } from '../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { until } from '../apps/server/src/testing.ts';
import { freePort, killAll, noSandboxes, type Platform, run, startPlatform, temporaryFolder } from './platform.ts';

after(killAll);

const secret = { SVC_BACKUP_PASSPHRASE: 'correct horse battery staple' };
/** Instants at which a process is killed: all 50 take ten minutes. */
const kills = Number(process.env['SVC_TEST_KILLS'] ?? 3);
const svc = resolve(import.meta.dirname, '../svc');

async function ask(platform: Pick<Platform, 'url' | 'key'>, path: string, body?: unknown) {
  const answer = await fetch(platform.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
  return (await answer.json()) as Record<string, never>;
}

/** Lists that must be the same before and after. */
const lists = ['/v1/keys', '/v1/schedules', '/v1/heartbeats', '/v1/prompts', '/v1/sessions', '/v1/devices'];

/** A list without what changes by being looked at, and without deadlines of monitors: those begin anew. */
const stable = (text: string): string => text.replaceAll(/"(?:last_(?:used|seen)|expected)_at":[^,}]*/g, '""');

describe('a backup of a platform that runs', { concurrency: false }, () => {
  const folder = temporaryFolder();
  const place = join(folder.path, 'backups');
  const file = join(place, 'household.tar.zst');
  const settings = { ...noSandboxes, ...secret, SVC_BACKUP_DIR: place, SVC_BACKUP_KEEP: '2' };
  // Of another platform: not this one's business.
  const foreign = `svc-other-${'0'.repeat(12)}-2020-01-01T000000Z.tar.zst`;
  /** Those that the platform made by itself. */
  const backups = () => readdirSync(place).filter((each) => /T\d{6}Z\.tar\.zst$/.test(each) && each !== foreign);
  let platform: Platform;
  let ping = '';
  let lent: Record<string, unknown>;
  const listed = new Map<string, string>();
  /** What was restored from the file, once the key that was lent had been revoked. */
  let restored: Platform | undefined;

  before(async () => {
    mkdirSync(place, { mode: 0o777 });
    chmodSync(place, 0o777);
    writeFileSync(join(place, foreign), 'of another');
    platform = await startPlatform(join(folder.path, 'before'), await freePort(), settings);
    const monitor = await ask(platform, '/v1/heartbeats', { name: 'nightly', period_s: 3_600, grace_s: 600 });
    ping = new URL(monitor['ping_url'] as unknown as string).pathname;
    await ask(platform, '/v1/schedules', {
      name: 'tidy',
      kind: 'http',
      spec: { method: 'GET', url: 'https://example.com/' },
      trigger: { type: 'interval', every_s: 86_400 },
      target: { type: 'cloud' },
    });
    await ask(platform, '/v1/prompts', { prompt: 'look at the roof' });
    for (const path of lists) listed.set(path, stable(JSON.stringify(await ask(platform, path))));
    lent = await ask(platform, '/v1/keys', { name: 'lent', scopes: ['*'] });
    // One that is under way would refuse the next.
    await until(() => backups().length === 1);
  });
  after(async () => {
    await restored?.end();
    await platform.end();
    await folder.remove();
  });

  test('is made and verified while requests go on, and none of them fails', async () => {
    let asked = 0;
    let over = false;
    const asking = (async () => {
      // Without a pause they would be most of what this costs.
      for (; !over; asked += 1, await delay(20)) await ask(platform, '/v1/devices');
    })();
    const made = await run(['backup', 'create', file, '--json', '--data-dir', platform.dataDir], secret);
    assert.match(made.stderr, /^svc: making a backup, and reading it to its end …\n/);
    over = true;
    await asking;
    assert.equal(made.code, 0, made.stderr);
    const told = JSON.parse(made.stdout);
    assert.equal(told.master_key, 'sealed');
    assert.ok(told.rows > 100 && asked > 0);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const verified = await run(['backup', 'verify', file, '--json'], secret);
    assert.deepEqual(JSON.parse(verified.stdout), told);
  });

  test('is made by the platform itself, with those of before dropped, and keys that were revoked since are revoked again', {
    timeout: 900_000,
  }, async () => {
    const { key, id } = lent;
    const metrics = await fetch(platform.url.replace(/\d+$/, (port) => String(Number(port) + 2)) + '/metrics');
    assert.match(await metrics.text(), /svc_backup_age_seconds \d+/);
    await fetch(`${platform.url}/v1/keys/${String(id)}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${platform.key}` },
    });
    await platform.end();
    // As if it had been off for years: the next start makes one, and the oldest go.
    const [newest = ''] = backups();
    for (const year of ['2021', '2022', '2023'])
      cpSync(join(place, newest), join(place, newest.replace(/-\d{4}-/, `-${year}-`)));
    rmSync(join(place, newest));
    // Its first look writes down what was revoked.
    const { key: owner } = platform;
    platform = { ...(await startPlatform(platform.dataDir, platform.port, settings)), key: owner };
    await until(() => readdirSync(place).some((each) => each.endsWith('-revoked.json')));
    await until(() => readFileSync(revokedIn(place), 'utf8').includes(String(id)));
    await until(() => backups().length === 2 && backups().some((each) => !/-202[1-3]-/.test(each)));
    assert.ok(backups().some((each) => each.includes('-2023-')) && existsSync(join(place, foreign)));
    const dataDir = join(folder.path, 'after');
    const done = await run(['restore', file, '--json', '--data-dir', dataDir], secret);
    assert.equal(done.code, 0, done.stderr);
    assert.match(JSON.stringify(JSON.parse(done.stdout).keys.revoked_again), /lent/);
    assert.ok(lstatSync(join(dataDir, 'postgres')).isDirectory(), 'the cluster is no link to a place elsewhere');
    restored = await startPlatform(dataDir, await freePort());
    const refused = await fetch(`${restored.url}/v1/devices`, { headers: { authorization: `Bearer ${String(key)}` } });
    assert.equal(refused.status, 401);
  });

  test('is restored into an empty data dir with every key, schedule, monitor address, prompt', async () => {
    const { url } = restored ?? assert.fail('the test before restored it');
    for (const [path, text] of listed) {
      const answer = await ask({ url, key: platform.key }, path);
      // The one that is revoked again: the test before.
      const keys = answer['keys'] as unknown as { name: string }[] | undefined;
      const before = { ...answer, ...(keys && { keys: keys.filter(({ name }) => name !== 'lent') }) };
      assert.equal(stable(JSON.stringify(before)).replaceAll(url, platform.url), text, path);
    }
    assert.equal((await fetch(url + ping, { method: 'POST' })).status, 200);
  });

  test('is refused, and nothing is written, where the dir is in use, the passphrase another, the file damaged', async () => {
    const dataDir = join(folder.path, 'refused');
    const damaged = join(folder.path, 'damaged');
    writeFileSync(damaged, readFileSync(file));
    truncateSync(damaged, statSync(file).size - 100);
    const refusals: [string, string[], Record<string, string>, RegExp][] = [
      ['in use', [file, '--data-dir', platform.dataDir], secret, /the platform runs on/],
      ['not empty', [file, '--data-dir', folder.path], secret, /is not empty/],
      ['no passphrase', [file, '--data-dir', dataDir], {}, /the file is sealed: set SVC_BACKUP_PASSPHRASE/],
      [
        'another',
        [file, '--data-dir', dataDir],
        { SVC_BACKUP_PASSPHRASE: 'another passphrase' },
        /not that of this file/,
      ],
      ['cut off', [damaged, '--data-dir', dataDir], secret, /cut off/],
      ['no backup', [svc, '--data-dir', dataDir], secret, /no backup of svc/],
      ['no file', [join(folder.path, 'nowhere'), '--data-dir', dataDir], secret, /there is no/],
    ];
    for (const [name, words, environment, says] of refusals) {
      const { code, stderr } = await run(['restore', ...words], environment);
      assert.equal(code, 1, name);
      assert.match(stderr, says, name);
      assert.doesNotMatch(stderr, /\n\s+at /, name);
    }
    assert.ok(!existsSync(dataDir));
  });

  test('without a passphrase holds no secret, and is restored with the key from its copy', async () => {
    const plain = join(folder.path, 'plain.tar.zst');
    // As somebody else might make a file: a cluster that lets anybody in and runs commands, settings that lead elsewhere.
    const cluster = join(platform.dataDir, 'postgres');
    const planted = join(cluster, 'recovery.signal');
    const settings = join(platform.dataDir, 'settings.env');
    appendFileSync(join(cluster, 'pg_hba.conf'), '\nhost all all 0.0.0.0/0 trust\n');
    appendFileSync(join(cluster, 'postgresql.auto.conf'), "\nrestore_command = 'touch /tmp/pwned'\n");
    writeFileSync(planted, '');
    writeFileSync(settings, 'SVC_LOG_LEVEL=warn\nSVC_HUB_URL=https://elsewhere.example/hub\n');
    const made = await run(['backup', 'create', plain, '--json', '--data-dir', platform.dataDir]);
    assert.equal(made.code, 0, made.stderr);
    rmSync(planted);
    rmSync(settings);
    assert.equal(JSON.parse(made.stdout).master_key, 'left out');
    const dataDir = join(folder.path, 'plain');
    const refused = await run(['restore', plain, '--data-dir', dataDir]);
    assert.match(refused.stderr, /set SVC_MASTER_KEY_FILE to its copy/);
    const key = join(platform.dataDir, 'master.key');
    const other = join(folder.path, 'other.key');
    writeFileSync(other, 'another master key, of 32 characters', { mode: 0o600 });
    const wrong = await run(['restore', plain, '--data-dir', dataDir, '--master-key-file', other]);
    assert.match(wrong.stderr, /another master key/);
    assert.deepEqual(existsSync(dataDir) ? readdirSync(dataDir) : [], []);
    const restored = await run(['restore', plain, '--json', '--data-dir', dataDir, '--master-key-file', key]);
    assert.equal(restored.code, 0, restored.stderr);
    const told = JSON.parse(restored.stdout);
    assert.match(told.unsealed, /nothing proves who made this file/);
    assert.ok(told.settings_left_out.includes('SVC_HUB_URL'), restored.stdout);
    const kept = readFileSync(join(dataDir, 'settings.env'), 'utf8').split('\n');
    assert.deepEqual(
      kept.filter((line) => line !== '' && !line.startsWith('#')),
      ['SVC_LOG_LEVEL=warn'],
    );
    const here = (name: string) => join(dataDir, 'postgres', name);
    assert.equal(existsSync(here('recovery.signal')), false);
    assert.doesNotMatch(readFileSync(here('pg_hba.conf'), 'utf8'), /0\.0\.0\.0\/0/);
    assert.doesNotMatch(readFileSync(here('postgresql.auto.conf'), 'utf8'), /restore_command/);
  });

  test('goes into no folder that is not there: its disk may not be mounted', async () => {
    const missing = join(folder.path, 'disk');
    const { code, stderr } = await run(['backup', 'create', join(missing, 'one'), '--data-dir', platform.dataDir]);
    assert.equal(code, 1);
    assert.match(stderr, /there is no folder/);
    assert.ok(!existsSync(missing));
  });

  test('two at once: one is made, the other is refused; the code of the next release makes it before it migrates', async () => {
    const embedded = findRunning(platform.dataDir) ?? assert.fail('the database does not run');
    const sql = openDatabase({ embedded, database: 'svc' }, 1);
    const rows =
      await sql`delete from kernel.migrations where name = (select max(name) from kernel.migrations) returning *`;
    const both = await Promise.all(
      ['one', 'two'].map((name) => run(['backup', 'create', join(folder.path, name), '--data-dir', platform.dataDir])),
    );
    await sql`insert into kernel.migrations ${sql(rows)}`;
    await sql.end({ timeout: 1 });
    assert.deepEqual(new Set(both.map(({ code }) => code)), new Set([0, 1]));
    assert.match(both.map(({ stderr }) => stderr).join(''), /another backup is under way/);
  });

  test(`killed at ${kills} instants, a backup leaves no file of its name, and the next one is whole`, async () => {
    const target = join(folder.path, 'killed.tar.zst');
    for (let kill = 0; kill < kills; kill += 1) {
      await killedAfter(['backup', 'create', target, '--data-dir', platform.dataDir], (4_000 * kill) / kills);
      if (!existsSync(target)) continue;
      // It was faster.
      assert.equal((await run(['backup', 'verify', target], secret)).code, 0);
      break;
    }
    // The one that was faster has the name already; what others left goes with the next of that name.
    await rm(target, { force: true });
    const made = await run(['backup', 'create', target, '--data-dir', platform.dataDir], secret);
    assert.equal(made.code, 0, made.stderr);
    assert.deepEqual(
      readdirSync(folder.path).filter((name) => name.startsWith('killed.tar.zst.part-')),
      [],
    );
  });

  test(`killed at ${kills} instants, a restore is all or nothing for a start, and a second one goes through`, async () => {
    const dataDir = join(folder.path, 'killed');
    for (let kill = 0; kill < kills; kill += 1) {
      await killedAfter(['restore', file, '--data-dir', dataDir], (3_000 * kill) / kills);
      const isWhole = existsSync(join(dataDir, 'master.key')) || existsSync(join(dataDir, 'restoring', 'complete'));
      if (isWhole) break;
      if (!existsSync(join(dataDir, 'restoring'))) continue;
      const { code, stderr } = await run(['up', '--port', '0', '--data-dir', dataDir], noSandboxes);
      assert.equal(code, 1);
      assert.match(stderr, /a restore into .* was interrupted: run \.\/svc restore FILE again/);
    }
    const names = existsSync(dataDir) ? readdirSync(dataDir) : [];
    if (!names.includes('postgres')) {
      const again = await run(['restore', file, '--data-dir', dataDir], secret);
      assert.equal(again.code, 0, again.stderr);
    }
    const started = await startPlatform(dataDir, await freePort());
    await ask({ url: started.url, key: platform.key }, '/v1/schedules');
    await started.end();
  });
});

const revokedIn = (place: string): string =>
  join(place, readdirSync(place).find((each) => each.endsWith('-revoked.json')) ?? '');

/** Runs `./svc …`, and kills it and all that it began after some time. */
async function killedAfter(words: readonly string[], ms: number): Promise<void> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(svc, words, { env: { PATH, HOME, ...secret }, stdio: 'ignore', detached: true });
  const closed = once(child, 'close');
  await Promise.race([delay(ms), closed]);
  try {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
  } catch {
    // It has ended.
  }
  await closed;
}
