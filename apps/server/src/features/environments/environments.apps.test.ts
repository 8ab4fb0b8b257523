import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { letIn } from '../connections/connections.testing.ts';
import { environmentOf } from './environments.testing.ts';

const publicKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPq1BaCEkRkW7rQ4y0VxM2v9xLrkG0m2Tn8bRzXn1h2k';

describe('an app in environments', () => {
  const { gateway } = shared(() => openTest());

  /** What somebody with a key is answered who wants in, or wants somebody else to be in. */
  async function tries(key: string, id: string) {
    const friend = await createAccount(gateway);
    const path = `/v1/environments/${id}`;
    const said = async (method: string, where: string, body?: object) => {
      const answer = await http(gateway.url, where, { method, key, ...(body && { body }) });
      return answer.status === 403 ? `403 ${answer.body.error.details?.scopes}` : answer.status;
    };
    return [
      // A request that asks for no WebSocket is 400 once the credential was looked at.
      await said('GET', `/relay${path}/attach?kind=terminal`),
      await said('POST', `${path}/members`, { email: friend.email, role: 'developer' }),
      await said('PUT', `${path}/members/me/ssh-key`, { public_key: publicKey }),
      await said('POST', `${path}/enroll-token`, {}),
      await said('PATCH', path, { name: 'Renamed' }),
    ];
  }

  test('opens no terminal and lets nobody do so by "environments" alone, nor by a key that its key makes', async () => {
    const account = await createAccount(gateway);
    const id = await environmentOf(gateway, account);
    const refused = '403 environments:terminal';
    const app = await letIn(gateway, account, ['environments', 'keys']);
    assert.deepEqual(await tries(app.key, id), [refused, refused, refused, refused, 200]);
    const make = (scopes: string[]) => http(gateway.url, '/v1/keys', { key: app.key, body: { scopes } });
    assert.equal((await make(['environments', 'environments:terminal'])).status, 403);
    assert.deepEqual(await tries((await make(['environments'])).body.key, id), [
      refused,
      refused,
      refused,
      refused,
      200,
    ]);
    const viewer = await createAccount(gateway);
    const body = { email: viewer.email, role: 'viewer' };
    assert.equal((await http(gateway.url, `/v1/environments/${id}/members`, { key: app.key, body })).status, 201);
    const better = { method: 'PATCH', key: app.key, body: { role: 'developer' } };
    assert.equal((await http(gateway.url, `/v1/environments/${id}/members/${viewer.id}`, better)).status, 403);
  });

  test('does with "environments:terminal" what a key of a person does with "environments", and what that key makes', async () => {
    const account = await createAccount(gateway);
    const app = await letIn(gateway, account, ['environments', 'environments:terminal'], 'registered');
    const all = async (key: string) => tries(key, await environmentOf(gateway, account));
    const expected = [400, 201, 200, 200, 200];
    assert.deepEqual(await all(app.key), expected);
    const make = async (key: string, scopes: string[]) =>
      (await http(gateway.url, '/v1/keys', { key, body: { scopes } })).body.key as string;
    const own = await make(account.key, ['environments', 'keys']);
    assert.deepEqual(await all(own), expected);
    assert.deepEqual(await all(await make(own, ['environments', 'environments:terminal'])), expected);
  });

  test('lets the command line of an earlier release, and what its keys make, have terminals by "environments"', async () => {
    const account = await createAccount(gateway);
    const { key } = await letIn(gateway, account, ['environments', 'keys'], 'first-party');
    const { body } = await http(gateway.url, '/v1/keys', { key, body: { scopes: ['environments'] } });
    for (const one of [key, body.key as string])
      assert.deepEqual(await tries(one, await environmentOf(gateway, account)), [400, 201, 200, 200, 200]);
  });

  test('had "environments" before there were others: the command line keeps its terminals, and no other app does', async () => {
    const account = await createAccount(gateway);
    const own = await letIn(gateway, account, ['environments'], 'first-party');
    const other = await letIn(gateway, account, ['environments'], 'registered');
    const file = join(import.meta.dirname, '../../../migrations/0392.keys.terminals.sql');
    const { sql } = gateway.kernel;
    await sql.unsafe(await readFile(file, 'utf8'));
    for (const [{ id }, expected] of [
      [own, ['environments', 'environments:terminal']],
      [other, ['environments']],
    ] as const) {
      const rows = await sql<{ scopes: string[] }[]>`
        select scopes from keys.keys where connection_id = ${id} union all
        select scopes from connections.connections where id = ${id}`;
      assert.deepEqual(
        rows.map(({ scopes }) => scopes),
        [expected, expected, expected],
      );
    }
  });
});
