import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { http, openTest } from '../testing.ts';
import { instantOf } from '../kernel/db/instant.ts';
import { installationOf } from './database.sql.ts';
import { applyRevocations, keepRevocations, readRevocations } from './revocations.ts';
import { openStore } from './store.ts';

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
  await sql`insert into accounts.deletions (account_id, email) values (${gone}, 'x')`;
  await keepRevocations(sql, store, installation);
  const listed = async () => {
    const list = await readRevocations(store, installation);
    return [list?.revoked, list?.deleted.map(({ id: one }) => one)];
  };
  assert.deepEqual(await listed(), [[id], [gone]]);
  // As a copy has it that was restored from a backup of before.
  await sql`update keys.keys set status = 'active' where id = ${id}`;
  await sql`delete from accounts.deletions`;
  await keepRevocations(sql, store, installation);
  assert.deepEqual(await listed(), [[id], [gone]]);
  const at = '2026-11-20T00:00:00.000Z';
  const list = { installation, at, revoked: [id], deleted: [t.account.id, gone].map((one) => ({ id: one, at })) };
  // A backup of after the deletion has the account because somebody took it back.
  const newer = await applyRevocations(sql, { ...list, revoked: [] }, instantOf(Date.parse(at) + 1));
  assert.deepEqual(newer.emails, []);
  const before = instantOf(Date.parse(at) - 1);
  const found = await applyRevocations(sql, list, before);
  assert.deepEqual([found.keys.map(({ name }) => name), found.emails], [['lent'], [t.account.email]]);
  assert.deepEqual((await applyRevocations(sql, list, before)).emails, [], 'it is suspended already');
});
