import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { http, until } from '../../testing.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { lockQuota } from '../../kernel/records/quotas.ts';
import { openPlatform, person, type Platform } from '../auth/auth.testing.ts';
import { keysQuota } from '../keys/index.ts';
import { signIn } from '../me/me.testing.ts';

describe('an app that was disconnected', () => {
  let t: Platform;
  before(async () => {
    t = await openPlatform();
  });
  after(() => t[Symbol.asyncDispose]());
  const redirectUri = 'http://127.0.0.1:4711/callback';

  /** A person who let the command line in, and its access token. */
  async function connected(scope: string) {
    const base = `http://localhost:${t.port}`;
    const { browser, ...account } = await person(t, `${base}/auth`);
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      client_id: 'svc-cli',
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: `openid ${scope}`,
      resource: base,
      state: 'state',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const { answer } = await browser.letIn(`${base}/auth/authorize?${query.toString()}`, redirectUri);
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'svc-cli',
      code: answer.searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    });
    const { access_token: token } = (await (await fetch(`${base}/auth/token`, { method: 'POST', body })).json()) as {
      access_token: string;
    };
    const login = await signIn(t.gateway, account);
    const [connection] = (await login.ask('GET', '/v1/connections')).body.connections as { id: string }[];
    return {
      account,
      connect: () => http(base, '/v1/keys/connect', { method: 'POST', key: token, body: {} }),
      disconnect: () => login.ask('DELETE', `/v1/connections/${connection?.id}`),
      statusOf: async (key: string) => (await http(base, '/v1/usage', { key })).status,
    };
  }

  test('keeps no key that its keys made', async () => {
    const { connect, disconnect, statusOf } = await connected('keys usage');
    const { key } = (await connect()).body as { key: string };
    const make = (by: string) =>
      http(t.gateway.url, '/v1/keys', { key: by, body: { scopes: ['keys', 'usage'] } }).then(({ body }) => body.key);
    const child = (await make(key)) as string;
    const grandchild = (await make(child)) as string;
    assert.deepEqual([await statusOf(child), await statusOf(grandchild)], [200, 200]);
    assert.equal((await disconnect()).body.keys_revoked, 3);
    for (const each of [key, child, grandchild]) assert.equal(await statusOf(each), 401);
  });

  test('keeps no key that it was given at that moment', async () => {
    const { account, connect, disconnect, statusOf } = await connected('usage');
    const { sql } = t.gateway.kernel;
    const waiting = async () => (await sql`select 1 from pg_locks where locktype = 'advisory' and not granted`).length;
    const held = await inTransaction(sql, async (tx) => {
      await lockQuota(tx, keysQuota, account.id);
      const connecting = connect();
      await until(async () => (await waiting()) > 0);
      const ended = disconnect();
      await Promise.race([ended, setTimeout(500)]);
      return { connecting, ended };
    });
    const [{ body }] = await Promise.all([held.connecting, held.ended]);
    if (body.key !== undefined) assert.equal(await statusOf(body.key as string), 401);
  });
});
