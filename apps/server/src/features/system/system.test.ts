import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { writeRecord } from '../../backup/record.ts';
import { checkPlatform } from '../../doctor.platform.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, masterKey, openTest } from '../../testing.ts';
import { setOperator } from '../accounts/index.ts';

describe('the system', () => {
  const settings = {
    SVC_SMTP_URL: 'smtp://mailer:smtp-secret@127.0.0.1:2525',
    SVC_MAIL_FROM: 'svc <bot@svc.test>',
    SVC_BASE_URL: 'http://svc.lan:8787',
    SVC_BACKUP_DIR: '/nowhere/backups',
  };
  const { gateway, second } = shared(() => openTest({ gateways: 2, settings }));

  test('shows an operator what is wrong and how to mend it, and no secret', async () => {
    const account = await createAccount(gateway);
    await setOperator(gateway.kernel.sql, account.id, true);
    const { status, body } = await http(gateway.url, '/v1/system', { key: account.key });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.https, body.urls.hub], [false, 'http://svc.lan:8787/hub']);
    assert.deepEqual(body.mail, { configured: true, from: 'svc <bot@svc.test>' });
    const live = body.gateways.map(({ id }: { id: string }) => id);
    assert.deepEqual(live, [gateway, second].map(({ kernel }) => kernel.gateways.id).toSorted());
    assert.equal(
      body.gateways.find(({ answers_this: own }: { answers_this: boolean }) => own).id,
      gateway.kernel.gateways.id,
    );
    const of = (name: string) => body.checks.find((check: { name: string }) => check.name === name);
    assert.equal(of('hub').ok, true);
    // What every backup fails with is seen here too: nothing that is set up and broken is called well.
    assert.deepEqual([of('backups').ok, typeof of('backups').fix], [false, 'string']);
    for (const name of ['recordings', 'relay', 'sandboxes']) assert.ok(of(name), name);
    assert.equal(of('database').ok, true, of('database').detail);
    assert.deepEqual([of('sign-in').ok, typeof of('sign-in').fix], [false, 'string']);
    assert.ok(body.disk.free_bytes > 0 && body.disk.free_bytes <= body.disk.total_bytes);
    for (const secret of ['smtp-secret', masterKey, account.key, account.email])
      assert.equal(JSON.stringify(body).includes(secret), false);
  });

  test('shows a node that is gone with sandboxes on it, and none that nobody misses', async () => {
    const { sql } = gateway.kernel;
    const { id: accountId, keyId } = await createAccount(gateway);
    const nodes = async () => (await checkPlatform(gateway.kernel)).filter(({ name }) => name === 'nodes');
    const [gone, empty] = [randomUUID(), randomUUID()];
    await sql`insert into sandboxes.nodes (id, address, seen_at, missing_since)
      select id::uuid, 'unix:/nowhere', now() - interval '2 days', now() - interval '50 s' from unnest(${[gone, empty]}::text[]) id`;
    assert.deepEqual(await nodes(), []);
    await sql`
      insert into sandboxes.sandboxes (id, account_id, key_id, node_id, state, backend, template, egress, metadata,
        created_at, expires_at)
      values (${randomUUID()}, ${accountId}, ${keyId}, ${gone}, 'paused', 'v2', 'python', '{}', '{}', now(), now())`;
    const [check] = await nodes();
    assert.match(check?.found ?? '', new RegExp(`^${gone} has not answered for 5\\d s, paused there: 1$`));
    await sql`update sandboxes.nodes set missing_since = null where id = ${gone}`;
    assert.deepEqual(await nodes(), []);
    // Within a day it is missed without any, unless another one was made in its place.
    await sql`update sandboxes.nodes set seen_at = now() - interval '1 hour', machine = 'another' where id = ${empty}`;
    assert.match((await nodes())[0]?.found ?? '', new RegExp(`^${empty} has not answered`));
    await sql`update sandboxes.nodes set seen_at = now() where id = ${gone}`;
    assert.deepEqual(await nodes(), []);
  });

  test('is not there for anybody else, whatever their key may do', async () => {
    const { key } = await createAccount(gateway);
    const answer = await http(gateway.url, '/v1/system', { key });
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
    for (const method of ['GET', 'POST'])
      assert.equal((await http(gateway.url, '/v1/system/backups', { method, key })).status, 404, method);
  });

  test('says how its backups are made and asks for one, if the platform makes any', async () => {
    const { id, key } = await createAccount(gateway);
    const { sql, config } = gateway.kernel;
    await setOperator(sql, id, true);
    const failed = { since: '2026-11-02T03:00:00.000Z', reason: 'this user may not (EACCES)', fix: 'chown' };
    await writeRecord(sql, { failed });
    const { body } = await http(gateway.url, '/v1/system/backups', { key });
    const { place } = config.backup;
    assert.deepEqual(body, {
      place,
      set_by: 'settings',
      own_server: false,
      every_s: 86_400,
      keep: 7,
      sealed: false,
      failed,
    });
    const { body: system } = await http(gateway.url, '/v1/system', { key });
    const check = system.checks.find(({ name }: { name: string }) => name === 'backups');
    assert.deepEqual([check.ok, check.detail, check.fix], [false, failed.reason, failed.fix]);
    const asked = await http(gateway.url, '/v1/system/backups', { method: 'POST', key });
    assert.deepEqual([asked.status, asked.body], [202, { begins: true }]);
  });
});
