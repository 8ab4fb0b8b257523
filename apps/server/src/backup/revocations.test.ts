import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { beginDeletion, forgetDeletions } from '../features/accounts/accounts.sql.ts';
import { rememberedSeconds } from '../features/accounts/accounts.deletion.ts';
import { testClock } from '../kernel/base/clock.ts';
import { http, openTest } from '../testing.ts';
import { instantOf } from '../kernel/db/instant.ts';
import { installationOf } from './database.sql.ts';
import { applyRevocations, keepRevocations, readRevocations } from './revocations.ts';
import { openStore } from './store.ts';

const hashOf = (id: string): string => createHash('sha256').update(id).digest('hex');

test('a copy that knows of less takes nothing out of the list, and a restore lets nobody in who was deleted since', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-revoked-'));
  context.after(() => rmSync(folder, { recursive: true }));
  await using t = await openTest();
  const { sql, config } = t.gateway.kernel;
  const store = await openStore(folder, config);
  const installation = await installationOf(sql);
  const made = await http(t.gateway.url, '/v1/keys', { key: t.account.key, body: { name: 'lent' } });
  const { id } = made.body;
  await keepRevocations(sql, store, installation);
  await http(t.gateway.url, `/v1/keys/${id}`, { method: 'DELETE', key: t.account.key });
  const gone = randomUUID();
  await beginDeletion(sql, gone, 'x');
  await keepRevocations(sql, store, installation);
  const listed = async () => {
    const list = await readRevocations(store, installation);
    return [list?.revoked, list?.removed.map(({ hash }) => hash)];
  };
  assert.deepEqual(await listed(), [[id], [hashOf(gone)]]);
  assert.ok(!(await store.read(`svc-${installation.slice(0, 12)}-revoked.json`))?.includes(gone));
  // As a copy has it that was restored from a backup of before.
  await sql`update keys.keys set status = 'active' where id = ${id}`;
  await sql`delete from accounts.deletions`;
  await sql`delete from accounts.deleted`;
  await keepRevocations(sql, store, installation);
  assert.deepEqual(await listed(), [[id], [hashOf(gone)]]);
  const at = '2026-11-20T00:00:00.000Z';
  const list = {
    installation,
    at,
    revoked: [id],
    removed: [t.account.id, gone].map((one) => ({ hash: hashOf(one), at })),
    deleted: [],
  };
  // A backup of after the deletion has the account because somebody took it back.
  const newer = await applyRevocations(sql, { ...list, revoked: [] }, instantOf(Date.parse(at) + 1));
  assert.deepEqual(newer.emails, []);
  const before = instantOf(Date.parse(at) - 1);
  const found = await applyRevocations(sql, list, before);
  assert.deepEqual([found.keys.map(({ name }) => name), found.emails], [['lent'], [t.account.email]]);
  assert.deepEqual((await applyRevocations(sql, list, before)).emails, [], 'it is suspended already');
});

test('who was deleted is known as long as backups are kept, 400 days at least, and by a hash alone', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-deleted-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const clock = testClock(Date.now());
  await using t = await openTest({ clock });
  const { sql, config } = t.gateway.kernel;
  const gone = randomUUID();
  await beginDeletion(sql, gone, 'x');
  await sql`update accounts.deletions set done_at = now()`;
  clock.leap(399 * 86_400_000);
  await forgetDeletions(sql, clock, rememberedSeconds(7 * 86_400));
  assert.equal((await sql`select 1 from accounts.deletions`).length, 0);
  // The store comes back, or backups begin, a year after the deletion.
  const store = await openStore(folder, config);
  const installation = await installationOf(sql);
  await keepRevocations(sql, store, installation);
  const list = await readRevocations(store, installation);
  assert.deepEqual(
    list?.removed.map(({ hash }) => hash),
    [hashOf(gone)],
  );
  clock.leap(2 * 86_400_000);
  await forgetDeletions(sql, clock, rememberedSeconds(500 * 86_400));
  assert.equal((await sql`select 1 from accounts.deleted`).length, 1, 'backups are kept for longer');
  await forgetDeletions(sql, clock, rememberedSeconds(7 * 86_400));
  assert.equal((await sql`select 1 from accounts.deleted`).length, 0);
});

test('a list of before, which has ids, counts on', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-revoked-'));
  context.after(() => rmSync(folder, { recursive: true }));
  await using t = await openTest();
  const { sql, config } = t.gateway.kernel;
  const store = await openStore(folder, config);
  const installation = await installationOf(sql);
  const at = '2026-11-20T00:00:00.000Z';
  const old = { installation, at, revoked: [], deleted: [{ id: t.account.id, at }] };
  await store.replace(`svc-${installation.slice(0, 12)}-revoked.json`, JSON.stringify(old));
  const list = await readRevocations(store, installation);
  assert.ok(list);
  assert.deepEqual((await applyRevocations(sql, list, instantOf(Date.parse(at) - 1))).emails, [t.account.email]);
});
