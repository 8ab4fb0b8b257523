import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../../testing.shared.ts';
import { http, openTest } from '../../../testing.ts';
import { makeRoomForBegun } from '../provider/records.sql.ts';

describe('a table of what strangers begin that is full', () => {
  const { gateway } = shared(() => openTest({ settings: { SVC_TRUSTED_PROXIES: '127.0.0.1' } }));

  /** Rows of networks, the first of each the oldest. */
  async function fill(model: string, networks: string[]): Promise<void> {
    await gateway.kernel.sql`
      insert into auth.records (model, id_hash, payload, address, created_at, expires_at)
      select ${model}, sha256(gen_random_uuid()::text::bytea), '', given.network, now() - interval '1 hour' + at * interval '1 ms',
        now() - interval '1 hour' + at * interval '1 ms' + interval '1 day'
      from unnest(${networks}::text[]) with ordinality as given (network, at)`;
  }
  const left = async (model: string): Promise<string[]> => {
    const rows = await gateway.kernel.sql<{ address: string }[]>`
      select address from auth.records where model = ${model} order by created_at`;
    return rows.map(({ address }) => address);
  };

  test('loses the oldest of the /32 that holds most, of its /48 that holds most; who holds little keeps all', async () => {
    const people = ['192.0.2.7', '2001:db8:1:2::/64', '2001:db8:1:3::/64', '203.0.113.9'];
    const spread = Array.from({ length: 6 }, (_, i) => `2a01:4f8:${i}:1::/64`);
    const dense = Array.from({ length: 4 }, (_, i) => `2a01:4f8:aaaa:${i}::/64`);
    const other = Array.from({ length: 5 }, (_, i) => `198.51.100.${i}`);
    await fill('Interaction', [...people, ...spread, ...dense, ...other]);
    await makeRoomForBegun(gateway.kernel.sql, 20);
    assert.equal((await left('Interaction')).length, 19, 'it was not full');
    await makeRoomForBegun(gateway.kernel.sql, 19);
    assert.deepEqual(await left('Interaction'), [...people, ...spread, ...dense.slice(1), ...other]);
  });

  test('is told the network of who signs in and of a device', async () => {
    const { kernel, url } = gateway;
    const headers = { 'x-forwarded-for': '203.0.113.77', 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ client_id: 'svc-cli', scope: 'openid' });
    assert.equal((await fetch(`${url}/auth/device/authorize`, { method: 'POST', headers, body })).status, 200);
    const query = new URLSearchParams({
      client_id: 'svc-cli',
      redirect_uri: 'http://127.0.0.1/callback',
      response_type: 'code',
      scope: 'openid',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    });
    await fetch(`${url}/auth/authorize?${query.toString()}`, { headers, redirect: 'manual' });
    const rows = await kernel.sql`select model from auth.records where address = '203.0.113.77' order by model`;
    assert.deepEqual(
      rows.map(({ model }) => model as string),
      ['DeviceCode', 'Interaction'],
    );
  });

  test('takes an app of a newcomer, and keeps those that were let in', async () => {
    const { sql } = gateway.kernel;
    await fill(
      'Client',
      Array.from({ length: 1_000 }, (_, i) => `198.51.${i % 100}.1`),
    );
    await sql`update auth.records set expires_at = now() + interval '90 days'
      where id_hash = (select id_hash from auth.records where model = 'Client' order by created_at limit 1)`;
    const app = { client_name: randomUUID(), redirect_uris: ['https://app.test/callback'] };
    const register = async (network: string) =>
      (await http(gateway.url, '/auth/register', { body: app, headers: { 'x-forwarded-for': network } })).status;
    await fill('Client', ['198.51.7.1']);
    assert.equal(await register('203.0.113.9'), 201);
    const rows = await left('Client');
    assert.ok(rows.length < 1_001 && rows.at(-1) === '203.0.113.9', `${rows.length}`);
    assert.equal(rows[0], '198.51.0.1', 'it was let in');
    for (let i = 0; i < 29; i += 1) assert.equal(await register('203.0.113.9'), 201);
    assert.equal(await register('203.0.113.9'), 429);
  });
});
