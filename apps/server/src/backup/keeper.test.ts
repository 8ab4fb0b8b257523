import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { CommandError } from '../kernel/base/command-error.ts';
import { testClock } from '../kernel/base/clock.ts';
import { readOrCreateFact } from '../kernel/db/facts.ts';
import { backups } from '../doctor.backups.ts';
import { openTest, until } from '../testing.ts';
import { newInstallation } from './database.sql.ts';
import { ownOf, startBackups } from './keeper.ts';
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
  const backup = { place, everySeconds: 86_400, keep: 7, passphrase: undefined };
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
  const { failed } = await readRecord(kernel.sql);
  assert.match(failed?.reason ?? '', /taken is no folder/);
  const check = await backups(config, 'x', { ...(failed && { failed }) });
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
  const installation = (await readOrCreateFact(kernel.sql, 'installation', newInstallation)).toString('hex');
  await writeFile(join(place, newName(installation, new Date(clock.now()))), 'x');
  const resolved = () => kernel.sql`
    select from notifications.notifications where type like 'backup.%' and resolution = 'recovered'`;
  await until(async () => (clock.advance(60_000), (await resolved()).length === 3));
  const { newest, failed: after } = await readRecord(kernel.sql);
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
