import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { CommandError } from '../kernel/base/command-error.ts';
import { testClock } from '../kernel/base/clock.ts';
import { backups } from '../doctor.backups.ts';
import { openTest, until } from '../testing.ts';
import { installationOf } from './database.sql.ts';
import { ownOf, startBackups } from './keeper.ts';
import { type BackupAccess, backupConfig, configAt, placeTopic, tryPlace, writePlace } from './place.ts';
import { faultOf, readRecord, wantedTopic } from './record.ts';
import { newName } from './store.ts';

const hourMs = 3_600_000;

test('a backup that is late is told to the operators once a day, and the metrics have its age', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-keeper-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const clock = testClock();
  const lines: string[] = [];
  const log = new Writable({ write: (chunk, _, done) => (lines.push(String(chunk)), done()) });
  await using t = await openTest({ clock, log });
  const { kernel } = t.gateway;
  await kernel.sql`update accounts.accounts set operator = id = ${t.account.id}`;
  // A file where the folder should be: no backup can be made.
  const place = join(folder, 'taken');
  await writeFile(place, '');
  const backup = { ...kernel.config.backup, place };
  const config = { ...kernel.config, databaseUrl: undefined, backup };
  const stop = await startBackups({ ...kernel, config });
  const told = async (): Promise<number> => {
    const [row] = await kernel.sql<{ count: number }[]>`
      select count(*)::int as count from notifications.notifications where type = 'backup.late'`;
    return row?.count ?? 0;
  };
  const age = async (): Promise<number> =>
    Number(/^svc_backup_age_seconds (\d+)$/m.exec(await kernel.metrics.registry.metrics())?.[1]);
  // At the first failure, with what to do, in the inbox of operators and in what `svc doctor` and System ask.
  await until(
    async () => (await kernel.sql`select from notifications.notifications where type = 'backup.failed'`).length === 1,
  );
  const { failed } = await readRecord(kernel.sql, place);
  assert.match(failed?.reason ?? '', /taken is no folder/);
  const check = await backups(config, 'x', { db: kernel.sql });
  assert.deepEqual([check.ok, check.found, check.fix], [false, failed?.reason, failed?.fix]);
  // Somebody who mended it, or thinks so, asks for one: it is tried at once.
  const failures = () => lines.filter((line) => line.includes('no backup was made')).length;
  const before = failures();
  await kernel.bus.publish(kernel.sql, wantedTopic, null);
  await until(() => failures() > before);
  clock.leap(35 * hourMs);
  assert.equal(await age(), 35 * 3_600);
  assert.equal(await told(), 0);
  // Past half of its time beyond when it was due.
  clock.leap(2 * hourMs);
  await until(async () => (await told()) === 1);
  for (let minutes = 0; minutes < 60; minutes += 15) clock.leap(15 * 60_000);
  await until(async () => (await age()) === 38 * 3_600);
  assert.equal(await told(), 1);
  clock.leap(24 * hourMs);
  await until(async () => (await told()) === 2);
  // Another process made one.
  await rm(place);
  await mkdir(place);
  const installation = await installationOf(kernel.sql);
  await writeFile(join(place, newName(installation, new Date(clock.now()))), 'x');
  const resolved = () => kernel.sql`
    select from notifications.notifications where type like 'backup.%' and resolution = 'recovered'`;
  await until(async () => (clock.advance(60_000), (await resolved()).length === 3));
  const { newest, failed: after } = await readRecord(kernel.sql, place);
  assert.deepEqual([newest?.bytes, after], [1, undefined]);
  await stop();
  assert.match(lines.join(''), /taken is no folder/);
});

test('backups of another installation, and of a time to come, count for nothing', () => {
  const [own, other] = ['a'.repeat(12), 'b'.repeat(12)];
  const kept = [
    ['2031-01-01T000000Z', own],
    ['2026-05-03T000000Z', other],
    ['2026-05-02T000000Z', own],
    ['2026-05-01T000000Z', own],
  ].map(([time = '', installation]) => ({
    name: `svc-box-${installation}-${time}.tar.zst`,
    at: new Date(`${time.slice(0, 10)}T00:00:00Z`),
  }));
  const now = Date.parse('2026-05-04T00:00:00Z');
  assert.deepEqual(ownOf(kept, `${own}0123`, now), kept.slice(2));
});

test('a folder that the platform may not write to is told with the command that lets it', () => {
  const { reason, fix } = faultOf(new CommandError('/mnt/x: this user may not (EACCES)'), '/mnt/x');
  assert.equal(reason, '/mnt/x: this user may not (EACCES)');
  assert.match(fix, /chown -R \S+ \/mnt\/x$/);
});

test('a place that an operator chose takes backups at once, and another one shows nothing of it', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-keeper-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  await using t = await openTest();
  const { kernel } = t.gateway;
  const [one, two] = [join(folder, 'one'), join(folder, 'two')];
  await mkdir(one);
  await mkdir(two);
  const installation = await installationOf(kernel.sql);
  const name = newName(installation, new Date(kernel.clock.now() - hourMs));
  await writeFile(join(one, name), 'x');
  const ages = async () => /^svc_backup_age_seconds (\S+)$/m.exec(await kernel.metrics.registry.metrics())?.[1];
  const choose = async (place: string | undefined) => {
    await writePlace(kernel.sql, kernel, place === undefined ? undefined : { place });
    await kernel.bus.publish(kernel.sql, placeTopic, null);
  };
  const stop = await startBackups(kernel);
  assert.match((await ages()) ?? '', /nan/i);
  await choose(one);
  await until(async () => (await readRecord(kernel.sql, one)).newest?.name === name);
  const check = await backups(kernel.config, 'x', { db: kernel.sql });
  assert.deepEqual([check.ok, check.found.startsWith(`the newest in ${one} is 1 h old`)], [true, true]);
  assert.deepEqual(await readRecord(kernel.sql, two), {});
  await writeFile(join(two, newName(installation, new Date(kernel.clock.now() - 2 * hourMs))), 'xy');
  await choose(two);
  await until(async () => (await readRecord(kernel.sql, two)).newest?.bytes === 2);
  await choose(undefined);
  await until(async () => /nan/i.test((await ages()) ?? ''));
  await stop();
});

test('the secret key of a chosen bucket is sealed, and reaches the process that makes backups', async () => {
  await using t = await openTest();
  const { kernel } = t.gateway;
  const access = { endpoint: 'http://127.0.0.1:1', region: 'eu', accessKeyId: 'id' };
  await writePlace(kernel.sql, kernel, { place: 's3://bucket/x', access, secretAccessKey: 'EXAMPLE-secret' });
  const { backup } = await backupConfig(kernel);
  assert.deepEqual([backup.place, backup.s3], ['s3://bucket/x', { ...access, secretAccessKey: 'EXAMPLE-secret' }]);
  const facts = await kernel.sql<{ value: Buffer }[]>`select value from kernel.facts`;
  for (const { value } of facts) assert.ok(!value.includes('EXAMPLE-secret'));
  await writePlace(kernel.sql, kernel, { place: '/x' });
  assert.equal((await backupConfig(kernel)).backup.s3, undefined);
  assert.equal((await kernel.sql`select from kernel.facts where name like 'backup_place_%'`).length, 0);
});

test('places that can take no backup are refused with why, and nothing is left there', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-keeper-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const dataDir = join(folder, 'data');
  await mkdir(dataDir);
  await symlink(dataDir, join(folder, 'link'));
  await writeFile(join(folder, 'file'), '');
  await using t = await openTest();
  const refusal = (place: string, access?: BackupAccess): Promise<string> =>
    tryPlace(configAt(t.gateway.kernel.config, { place, ...(access && { access }) }, 'x'), dataDir).then(
      () => '',
      ({ message }: CommandError) => message,
    );
  assert.match(await refusal('backups'), /must be a whole path/);
  assert.match(await refusal(join(folder, 'gone', 'x')), /there is no folder/);
  assert.match(await refusal(join(folder, 'file')), /is no folder/);
  for (const inside of [dataDir, join(dataDir, 'x'), join(folder, 'link', 'x')])
    assert.match(await refusal(inside), /is in the data folder/, inside);
  assert.match(await refusal('/proc/svc-backups'), /this user may not|there is no/);
  assert.match(
    await refusal('s3://bucket', { endpoint: 'http://127.0.0.1:1', region: 'x', accessKeyId: 'x' }),
    /^s3:\/\/bucket: ECONNREFUSED/,
  );
  assert.equal(await refusal(join(folder, 'new')), '');
  assert.deepEqual((await readdir(folder)).toSorted(), ['data', 'file', 'link', 'new']);
  assert.deepEqual(await readdir(join(folder, 'new')), []);
});
