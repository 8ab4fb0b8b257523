import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { describe, test } from 'node:test';
import { openUnder } from '../../kernel/base/crypto.ts';
import { asOwner, http, openTest, type TestAccount } from '../../testing.ts';
import { environmentOf } from './environments.testing.ts';
import { sealedDataKeys } from './index.ts';

const ask = async (url: string, { key }: TestAccount, method: string, path: string, body?: object, more: object = {}) =>
  http(url, path, { method, key, ...(body && { body }), headers: { ...more } });

describe('secrets of environments', () => {
  test('are made and replaced, listed by name alone, and bad names and values are a 400', async () => {
    await using t = await openTest();
    const path = `/v1/environments/${await environmentOf(t.gateway, t.account)}/secrets`;
    const put = (name: string, value: unknown) => ask(t.gateway.url, t.account, 'PUT', `${path}/${name}`, { value });
    const first = await put('GIT_TOKEN', 'one');
    assert.deepEqual([first.status, first.body], [201, { name: 'GIT_TOKEN', updated: false }]);
    const second = await put('GIT_TOKEN', 'two');
    assert.deepEqual([second.status, second.body], [200, { name: 'GIT_TOKEN', updated: true }]);
    for (const name of ['lower', '1ST', 'WITH-DASH', 'X'.repeat(129), '%C3%84']) {
      assert.equal((await put(name, 'x')).status, 400, name);
    }
    // Bytes of UTF-8 count, not letters.
    for (const value of ['x'.repeat(65_537), 'ă'.repeat(32_769), null, 7])
      assert.equal((await put('BIG', value)).status, 400);
    for (const value of ['', 'x'.repeat(65_536), 'ă'.repeat(32_768)]) assert.ok((await put('BIG', value)).status < 300);
    const { secrets } = (await ask(t.gateway.url, t.account, 'GET', path)).body;
    assert.deepEqual(
      secrets.map((secret: Record<string, unknown>) => [secret['name'], secret['created_by_user_id']]),
      [
        ['BIG', t.account.id],
        ['GIT_TOKEN', t.account.id],
      ],
    );
    assert.deepEqual((await ask(t.gateway.url, t.account, 'DELETE', `${path}/BIG`)).body, {
      deleted: true,
      name: 'BIG',
    });
    assert.equal((await ask(t.gateway.url, t.account, 'DELETE', `${path}/BIG`)).status, 404);
  });

  test('an environment keeps 200 of them', async () => {
    await using t = await openTest();
    const id = await environmentOf(t.gateway, t.account);
    await t.gateway.kernel.sql`
      insert into environments.secrets (environment_id, name, version, data_key, value, created_at, updated_at)
      select ${id}, 'S' || n, 1, '', '', now(), now() from generate_series(1, 200) n`;
    const path = `/v1/environments/${id}/secrets`;
    const put = (name: string) => ask(t.gateway.url, t.account, 'PUT', `${path}/${name}`, { value: 'x' });
    const answer = await put('ONE_MORE');
    assert.deepEqual([answer.status, answer.body.error.code], [429, 'quota_exceeded']);
    assert.equal((await put('S1')).status, 200);
  });

  test('each opens at its place and in its version alone, with a key that the master key alone opens', async () => {
    await using t = await openTest();
    const id = await environmentOf(t.gateway, t.account);
    const path = `/v1/environments/${id}/secrets`;
    for (const value of ['one', 'two']) await ask(t.gateway.url, t.account, 'PUT', `${path}/TOKEN`, { value });
    const [row] = await t.gateway.kernel.sql<{ version: number; data_key: Buffer; value: Buffer }[]>`
      select version, data_key, value from environments.secrets where environment_id = ${id}`;
    assert.ok(row && row.version === 2);
    const key = t.gateway.kernel.keyring.open(sealedDataKeys, row.data_key);
    assert.equal(openUnder(key, row.value, 'p', `${id} TOKEN 2`).toString(), 'two');
    for (const bound of [`${id} TOKEN 1`, `${id} OTHER 2`, `${randomUUID()} TOKEN 2`]) {
      assert.throws(() => openUnder(key, row.value, 'p', bound));
    }
  });

  test('stand in no answer, event, log line, repeated reply or table, in plain, base64 or hex', async () => {
    const lines: string[] = [];
    const log = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    await using t = await openTest({ log, settings: { SVC_LOG_LEVEL: 'debug' } });
    const canary = randomBytes(24).toString('base64url');
    const id = await environmentOf(t.gateway, t.account);
    const path = `/v1/environments/${id}`;
    const { body: token } = await ask(t.gateway.url, t.account, 'POST', `${path}/enroll-token`);
    const seen: unknown[] = [];
    for (const key of ['idem-1', 'idem-1']) {
      const headers = { 'idempotency-key': key };
      seen.push(
        (await ask(t.gateway.url, t.account, 'PUT', `${path}/secrets/CANARY`, { value: canary }, headers)).body,
      );
    }
    seen.push(
      (await ask(t.gateway.url, t.account, 'PUT', `${path}/secrets/BAD`, { value: canary.repeat(9_000) })).body,
    );
    seen.push((await ask(t.gateway.url, t.account, 'PUT', `${path}/secrets/lower`, { value: canary })).body);
    for (const end of ['', '/events', '/secrets'])
      seen.push((await ask(t.gateway.url, t.account, 'GET', path + end)).body);
    seen.push((await ask(t.gateway.url, t.account, 'GET', '/v1/audit')).body, lines);
    await t.gateway.kernel.usage.flush();
    const dump = await asOwner(t.database, async (sql) => {
      const tables = await sql<{ name: string }[]>`
        select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema')`;
      const texts = [];
      for (const { name } of tables) texts.push(await sql.unsafe(`select t::text as text from ${name} t`));
      return texts;
    });
    const all = JSON.stringify([seen, dump]);
    assert.ok(all.includes('CANARY'));
    for (const secret of [canary, token.token.slice(8)]) {
      for (const form of [
        secret,
        Buffer.from(secret).toString('base64').replace(/=+$/, ''),
        Buffer.from(secret).toString('hex'),
      ]) {
        assert.ok(!all.includes(form), form);
      }
    }
  });
});
