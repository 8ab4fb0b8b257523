import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { scopeNames } from '@svc/contract';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, startGateway, testDatabase, until } from '../../testing.ts';
import { createOwner, issueKey } from './index.ts';
import type { KeyTerms } from './keys.issue.ts';
import { isKeyText } from './keys.rules.ts';

describe('keys', () => {
  const { gateway, account } = shared(() => openTest());
  const create = (body: object = {}, key = account.key) => http(gateway.url, '/v1/keys', { key, body });
  const patch = (id: string, body: object, key = account.key) =>
    http(gateway.url, `/v1/keys/${id}`, { method: 'PATCH', key, body });
  const list = async (key = account.key) => (await http(gateway.url, '/v1/keys', { key })).body.keys;
  /** A key with terms that the API itself would not need to give. */
  const issue = async (terms: Partial<KeyTerms>): Promise<string> => {
    const wanted = { accountId: account.id, name: 'limited', scopes: ['*'], ...terms };
    return (await issueKey(gateway.kernel, gateway.kernel.sql, wanted)).text;
  };
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

  test('a created key works, is told once, and has what its maker has unless less is asked for', async () => {
    const { status, body } = await create({ name: 'Laptop' });
    assert.equal(status, 201);
    assert.ok(isKeyText(body.key));
    assert.deepEqual([body.name, body.status, body.scopes, body.tool_level], ['Laptop', 'active', ['*'], 'l3_sandbox']);
    assert.deepEqual([body.prefix, body.last_four], [body.key.slice(0, 8), body.key.slice(-4)]);
    assert.equal((await list(body.key)).length > 0, true);
    const [listed] = await list();
    assert.equal(listed.id, body.id);
    assert.equal('key' in listed || 'hash' in listed, false);
    assert.ok(!('models' in listed) && !('expires_at' in listed) && !('spend_cap_micro_usd' in listed));
  });

  test('lists the newest first, those of the own account only, and when each was used last', async () => {
    const other = await createAccount(gateway);
    const made = [(await create({ name: 'one' })).body.id, (await create({ name: 'two' })).body.id];
    const keys = await list();
    assert.deepEqual([keys[0].id, keys[1].id], made.toReversed());
    assert.equal(keys[0].last_used_at, undefined);
    // Noted after the answer.
    await until(async () =>
      (await list()).some((key: { id: string; last_used_at?: string }) => key.id === account.keyId && key.last_used_at),
    );
    assert.deepEqual(
      (await list(other.key)).map((key: { id: string }) => key.id),
      [other.keyId],
    );
  });

  test('is renamed, limited and freed of limits again; what is not named stays', async () => {
    const { body } = await create({ name: 'before', models: ['svc'], spend_cap_micro_usd: 5, expires_at: inDays(2) });
    const renamed = await patch(body.id, { name: 'ș'.repeat(120) });
    assert.deepEqual([renamed.status, renamed.body.name], [200, 'ș'.repeat(120)]);
    assert.deepEqual(renamed.body.models, ['svc']);
    const freed = await patch(body.id, { models: null, spend_cap_micro_usd: null, expires_at: null });
    assert.ok(!('models' in freed.body) && !('expires_at' in freed.body) && !('spend_cap_micro_usd' in freed.body));
    const limited = await patch(body.id, { models: ['a', 'b"\\,{}'], scopes: ['hosts'], tool_level: 'l1' });
    assert.deepEqual(
      [limited.body.models, limited.body.scopes, limited.body.tool_level],
      [['a', 'b"\\,{}'], ['hosts'], 'l1'],
    );
    assert.deepEqual(
      (await list()).find((key: { id: string }) => key.id === body.id),
      limited.body,
    );
  });

  test('an expiry with an offset is answered in UTC, by create and update alike', async () => {
    const created = await create({ expires_at: '2090-01-01T02:00:00+02:00' });
    assert.deepEqual([created.status, created.body.expires_at], [201, '2090-01-01T00:00:00.000Z']);
    const updated = await patch(created.body.id, { expires_at: '2091-01-01T02:00:00.5+02:00' });
    assert.deepEqual([updated.status, updated.body.expires_at], [200, '2091-01-01T00:00:00.500Z']);
  });

  test('an expiry at the end of time, or in a leap second of history, is no fault of ours', async () => {
    for (const expires_at of ['9999-12-31T23:59:59-12:00', '9999-12-31T23:59:59Z', '2090-06-30T23:59:59.999999999Z']) {
      const answer = await create({ expires_at });
      assert.ok([201, 400].includes(answer.status), `${expires_at}: ${answer.status}`);
      const changed = await patch(account.keyId, { expires_at });
      assert.ok([200, 400].includes(changed.status), `PATCH ${expires_at}: ${changed.status}`);
      await patch(account.keyId, { expires_at: null });
    }
  });

  test('400: an expiry in the past, an empty change, a malformed term', async () => {
    for (const body of [{ expires_at: '2001-01-01T00:00:00Z' }, { expires_at: 'soon' }, { scopes: [] }]) {
      assert.equal((await create(body)).status, 400, JSON.stringify(body));
    }
    for (const body of [{}, { status: 'revoked' }, { unknown: 1 }, { name: 'a\u0000b' }, { name: '\ud800' }]) {
      assert.equal((await patch(account.keyId, body)).status, 400, JSON.stringify(body));
    }
  });

  test('revoked is for good: twice answers the same, no change brings it back', async () => {
    const { body } = await create();
    const revoke = () => http(gateway.url, `/v1/keys/${body.id}`, { method: 'DELETE', key: account.key });
    for (let i = 0; i < 2; i++)
      assert.deepEqual((await revoke()).body, {
        deleted: true,
        id: body.id,
        children_revoked: 0,
        children_left: 0,
      });
    assert.equal((await http(gateway.url, '/v1/keys', { key: body.key })).status, 401);
    for (const change of [{ status: 'active' }, { name: 'again' }]) {
      const answer = await patch(body.id, change);
      assert.deepEqual([answer.status, answer.body.error.code], [409, 'key_revoked']);
    }
    assert.equal((await list()).find((key: { id: string }) => key.id === body.id).status, 'revoked');
    const unknown = await http(gateway.url, `/v1/keys/${randomUUID()}`, { method: 'DELETE', key: account.key });
    assert.equal(unknown.status, 404);
  });

  test('of a revocation and a resumption at once the revocation wins, whatever their order', async () => {
    for (let i = 0; i < 15; i++) {
      const { body } = await create();
      await patch(body.id, { status: 'paused' });
      const [revoked, resumed] = await Promise.all([
        http(gateway.url, `/v1/keys/${body.id}`, { method: 'DELETE', key: account.key }),
        patch(body.id, { status: 'active' }),
      ]);
      assert.equal(revoked.status, 200);
      assert.ok([200, 409].includes(resumed.status));
      assert.equal((await http(gateway.url, '/v1/keys', { key: body.key })).status, 401);
    }
  });

  test('a key gives no key more than it has, neither in creating nor in changing one', async () => {
    const weak = await issue({
      scopes: ['keys', 'hosts:read'],
      toolLevel: 'l1',
      models: ['svc-fast', 'svc'],
      spendCapMicroUsd: 1_000,
      expiresAt: inDays(10),
    });
    const { body: target } = await create({ name: 'target' }, weak);
    assert.deepEqual(
      [target.scopes, target.tool_level, target.models, target.spend_cap_micro_usd],
      [['keys', 'hosts:read'], 'l1', ['svc-fast', 'svc'], 1_000],
      'inherits every limit',
    );
    assert.ok(Date.parse(target.expires_at) <= Date.parse(inDays(10)));
    const beyond = [
      { scopes: ['*'] },
      { scopes: ['hosts'] },
      { scopes: ['keys', 'devices:read'] },
      { tool_level: 'l2' },
      { tool_level: 'l3_sandbox' },
      { models: ['svc', 'other'] },
      { spend_cap_micro_usd: 1_001 },
      { expires_at: inDays(11) },
    ];
    const lifted = [{ models: null }, { spend_cap_micro_usd: null }, { expires_at: null }];
    for (const terms of beyond) {
      assert.equal((await create(terms, weak)).status, 403, `create ${JSON.stringify(terms)}`);
    }
    for (const terms of [...beyond, ...lifted]) {
      assert.equal((await patch(target.id, terms, weak)).status, 403, `update ${JSON.stringify(terms)}`);
    }
    const within = { scopes: ['keys:read'], tool_level: 'l0', models: ['svc'], spend_cap_micro_usd: 0 };
    assert.equal((await create({ ...within, expires_at: inDays(9) }, weak)).status, 201);
  });

  test('a scope that no route has is a 400 that names the field, in creating and in changing a key', async () => {
    const { body: target } = await create();
    for (const scope of ['hosts:write', 'nothing', 'health', 'hosts:', 'HOSTS', 'scheduler:exec', '']) {
      for (const answer of [await create({ scopes: ['keys', scope] }), await patch(target.id, { scopes: [scope] })]) {
        const [[path, said] = []] = Object.entries<string[]>(answer.body.error.details.fieldErrors);
        assert.deepEqual([answer.status, path?.replace(/\d$/, 'n')], [400, 'scopes.n'], scope);
        assert.match(said?.[0] ?? '', /no such scope.* hosts:serve/);
      }
    }
    const { status, body } = await create({ scopes: [...scopeNames] });
    assert.deepEqual([status, body.scopes.toSorted()], [201, scopeNames.toSorted()]);
    assert.deepEqual((await patch(body.id, { scopes: ['hosts:exec'] })).body.scopes, ['hosts:exec']);
    assert.deepEqual((await patch(body.id, { scopes: ['keys'] })).body.scopes, ['keys']);
  });

  test('a key of an earlier version goes on: its scopes stay, and one that could serve as a host still may', async () => {
    const { sql } = gateway.kernel;
    const folder = join(import.meta.dirname, '../../../migrations');
    const file = readdirSync(folder).find((name) => name.endsWith('.keys.own_scopes.sql')) as string;
    const [, update = ''] = /^(update keys\.keys [^;]+);/m.exec(readFileSync(join(folder, file), 'utf8')) ?? [];
    for (const [scopes, then] of [
      [['hosts'], ['hosts', 'hosts:serve']],
      [
        ['scheduler', 'hosts:read'],
        ['scheduler', 'hosts:read', 'scheduler:serve'],
      ],
      [
        ['scheduler', 'hosts'],
        ['scheduler', 'hosts', 'hosts:serve', 'scheduler:serve'],
      ],
      [
        ['hosts:read', 'old-word'],
        ['hosts:read', 'old-word'],
      ],
      [
        ['hosts', '*'],
        ['hosts', '*'],
      ],
    ] as const) {
      const text = await issue({ scopes });
      await sql.unsafe(update);
      const listed = (await list()).find((key: { last_four: string }) => key.last_four === text.slice(-4));
      assert.deepEqual(listed.scopes, then);
      const device = { 'x-svc-device': randomUUID() };
      const claim = await http(gateway.url, '/v1/scheduler/claim', { key: text, body: {}, headers: device });
      assert.equal(claim.status, /\*|scheduler:serve/.test(String(then)) ? 200 : 403);
    }
  });

  test('a key can be made for one device, which then serves with it alone; only an owner takes a device from a key', async () => {
    const device_id = randomUUID();
    const scopes = ['hosts:serve', 'scheduler:serve'];
    const claim = async (key: string) =>
      (await http(gateway.url, '/v1/scheduler/claim', { key, body: {}, headers: { 'x-svc-device': device_id } }))
        .status;
    const { body: first } = await create({ scopes, device_id });
    const { body: second } = await create({ scopes });
    assert.deepEqual([await claim(second.key), await claim(first.key)], [403, 200]);
    const { body: third } = await create({ scopes, device_id });
    assert.deepEqual([await claim(first.key), await claim(third.key)], [403, 200]);
    const maker = await issue({ scopes: ['keys', 'hosts:serve'] });
    const count = (await list()).length;
    const taken = await create({ scopes: ['hosts:serve'], device_id }, maker);
    assert.deepEqual([taken.status, (await list()).length], [403, count], 'no key is left of a refused call');
    assert.equal((await create({ scopes: ['hosts:serve'], device_id: randomUUID() }, maker)).status, 201);
    const useless = await create({ scopes: ['keys'], device_id });
    assert.deepEqual([useless.status, Object.keys(useless.body.error.details.fieldErrors)], [400, ['device_id']]);
  });

  test('a key cannot widen itself', async () => {
    const text = await issue({ scopes: ['keys'], toolLevel: 'l0' });
    const mine = (await list()).find((key: { last_four: string; name: string }) => key.last_four === text.slice(-4));
    for (const terms of [{ scopes: ['*'] }, { tool_level: 'l1' }]) {
      assert.equal((await patch(mine.id, terms, text)).status, 403);
    }
  });

  test('a key changes and revokes none that may do more than itself, but always itself', async () => {
    const make = async (terms: object) => (await create({ name: 'k', ...terms })).body as { id: string; key: string };
    const weak = await make({ scopes: ['keys', 'hosts'] });
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const stronger = [
      await make({ scopes: ['*'] }),
      await make({ scopes: ['keys', 'schedules'] }),
      await make({ scopes: ['hosts'], expires_at: soon }),
    ];
    const call = (method: string, id: string, key: string, body?: object) =>
      http(gateway.url, `/v1/keys/${id}`, { method, key, ...(body && { body }) });
    for (const { id } of stronger.slice(0, 2)) {
      for (const answer of [
        await call('PATCH', id, weak.key, { status: 'paused' }),
        await call('PATCH', id, weak.key, { scopes: ['keys'] }),
        await call('DELETE', id, weak.key),
      ]) {
        assert.deepEqual([answer.status, answer.body.error.code], [403, 'forbidden']);
      }
    }
    const short = await make({ scopes: ['keys', 'hosts'], expires_at: soon });
    assert.equal((await call('DELETE', weak.id, short.key)).status, 403, 'it lives longer');
    assert.equal((await call('DELETE', stronger[2]?.id ?? '', weak.key)).status, 200);
    assert.equal((await call('PATCH', weak.id, weak.key, { scopes: ['keys'] })).status, 200);
    assert.equal((await call('DELETE', weak.id, weak.key)).status, 200);
    for (const { key } of stronger.slice(0, 2)) {
      assert.notEqual((await http(gateway.url, '/v1/keys', { key })).status, 401);
    }
  });

  test('its text is nowhere in the database, in no column of any table', async () => {
    const texts = [account.key];
    for (let i = 0; i < 3; i++) {
      const headers = { 'idempotency-key': randomUUID() };
      const { body } = await http(gateway.url, '/v1/keys', { key: account.key, body: {}, headers });
      texts.push(body.key);
      await http(gateway.url, '/v1/keys', { key: body.key });
    }
    await gateway.kernel.usage.flush();
    const { sql } = gateway.kernel;
    const tables = await sql<{ name: string }[]>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`;
    assert.ok(tables.length > 8);
    for (const { name } of tables) {
      const rows = await sql.unsafe<{ dump: string }[]>(`select to_jsonb(t)::text as dump from ${name} t`);
      const dump = rows.map((row) => row.dump).join('\n');
      // bytea is dumped as hex: looked for in that form too.
      for (const text of texts) {
        const secret = text.slice(8, -4);
        assert.ok(!dump.includes(secret) && !dump.includes(Buffer.from(secret).toString('hex')), name);
      }
    }
  });

  test('the owner is created once on an empty database, though eight gateways start at once', async () => {
    await using own = await testDatabase();
    await using first = await startGateway(own);
    const owned = await Promise.all(Array.from({ length: 8 }, () => createOwner(first.kernel)));
    const told = owned.flatMap((one) => one?.text ?? []);
    assert.equal(told.length, 1);
    assert.equal((await http(first.url, '/v1/keys', { key: told[0] ?? '' })).body.keys[0].tool_level, 'l3_sandbox');
    assert.equal(await createOwner(first.kernel), undefined);
  });

  test('the owner gets the address of the settings in the form in which addresses are kept', async () => {
    for (const [given, kept] of [
      ['ana@пример.test', 'ana@xn--e1afmkfd.test'],
      ['owner@localhost', 'owner@localhost'],
    ]) {
      await using own = await testDatabase();
      await using gateway = await startGateway(own, { settings: { SVC_OWNER_EMAIL: given ?? '' } });
      await createOwner(gateway.kernel);
      const [row] = await gateway.kernel.sql<{ email: string }[]>`select email from accounts.accounts`;
      assert.equal(row?.email, kept);
    }
  });
});
