import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { http, until } from '../../testing.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { lockQuota } from '../../kernel/records/quotas.ts';
import { openPlatform, person, type Platform } from '../auth/auth.testing.ts';
import { issueKey, keysQuota } from '../keys/index.ts';
import { signIn } from '../me/me.testing.ts';

describe('an app', () => {
  let t: Platform;
  before(async () => {
    t = await openPlatform();
  });
  after(() => t[Symbol.asyncDispose]());
  const redirectUri = 'http://127.0.0.1:4711/callback';

  /** A person whose browser is signed in, and who lets the command line in. */
  async function personOfApp() {
    const base = `http://localhost:${t.port}`;
    const { browser, ...account } = await person(t, `${base}/auth`);
    const login = await signIn(t.gateway, account);
    /** Scopes that were asked for, and the access token for those of them that were ticked. */
    const letIn = async (scope: string, isTicked?: (scope: string) => boolean) => {
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
      const url = `${base}/auth/authorize?${query.toString()}`;
      const { answer, asked } = await browser.letIn(url, redirectUri, isTicked);
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: 'svc-cli',
        code: answer.searchParams.get('code') ?? '',
        redirect_uri: redirectUri,
        code_verifier: verifier,
      });
      const given = await (await fetch(`${base}/auth/token`, { method: 'POST', body })).json();
      return { asked, token: (given as { access_token: string }).access_token };
    };
    const connection = async () =>
      ((await login.ask('GET', '/v1/connections')).body.connections as { id: string; scopes: string[] }[])[0];
    return {
      account,
      letIn,
      connection,
      connect: (token: string, body = {}, headers = {}) =>
        http(base, '/v1/keys/connect', { method: 'POST', key: token, body, headers }),
      disconnect: async () => login.ask('DELETE', `/v1/connections/${(await connection())?.id}`),
      statusOf: async (key: string) => (await http(base, '/v1/usage', { key })).status,
    };
  }

  /** The same, who let it in with these scopes. */
  async function connected(scope: string) {
    const app = await personOfApp();
    const { token } = await app.letIn(scope);
    return { ...app, connect: () => app.connect(token) };
  }

  test('that was disconnected keeps no key that its keys made', async () => {
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

  test('that was disconnected keeps no key that it was given at that moment', async () => {
    const { account, connect, disconnect, statusOf } = await connected('usage');
    const { sql } = t.gateway.kernel;
    const held = await inTransaction(sql, async (tx) => {
      await lockQuota(tx, keysQuota, account.id);
      const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      // Who waits for this, or for who does.
      const waiting = async () =>
        (
          await sql`
            with recursive behind as (
              select ${pid}::int as pid union
              select a.pid from pg_stat_activity a join behind b on b.pid = any(pg_blocking_pids(a.pid))
              where a.datname = current_database())
            select from behind`
        ).length - 1;
      const connecting = connect();
      await until(async () => (await waiting()) === 1);
      const ended = disconnect();
      await until(async () => (await waiting()) === 2);
      return { connecting, ended };
    });
    const [{ body }] = await Promise.all([held.connecting, held.ended]);
    if (body.key !== undefined) assert.equal(await statusOf(body.key as string), 401);
  });

  test('that is let in with less than before has less from then on, is asked about again, and keeps the keys that it has', async () => {
    const { letIn, connection, connect, statusOf } = await personOfApp();
    const { token } = await letIn('usage prompts');
    const { key } = (await connect(token)).body as { key: string };
    assert.deepEqual(
      (await letIn('usage')).asked,
      ['usage'],
      'an app of a machine is asked about each time, on one page',
    );
    const less = await letIn('usage prompts heartbeats', (scope) => scope === 'heartbeats');
    assert.deepEqual(less.asked.toSorted(), ['heartbeats', 'prompts', 'usage']);
    assert.deepEqual((await connection())?.scopes, ['heartbeats']);
    const given = await Promise.all([less.token, token].map(async (one) => (await connect(one)).body.scopes));
    assert.deepEqual(given, [['heartbeats'], []], 'tokens of before too');
    assert.equal(await statusOf(key), 200);
    assert.deepEqual((await letIn('usage', () => false)).asked, ['usage']);
  });

  test('that lost the answer with its key gets it again by its Idempotency-Key, else another one, and none ends unused', async () => {
    const { letIn, connect, statusOf } = await personOfApp();
    const { token } = await letIn('usage');
    const device = randomUUID();
    const once = { 'idempotency-key': randomUUID() };
    const both = await Promise.all([connect(token, { device }, once), connect(token, { device }, once)]);
    const { key } = (await connect(token, { device }, once)).body as { key: string };
    for (const { status, body } of both)
      assert.ok(status === 201 ? body.key === key : body.error.code === 'idempotency_in_flight', JSON.stringify(body));
    const keys = await Promise.all([1, 2].map(async () => (await connect(token, { device })).body.key as string));
    for (const one of [key, ...keys]) assert.equal(await statusOf(one), 200);
  });

  test('that is let in has a hundred keys at most; one with the name of its device takes the place of the former', async () => {
    const { account, letIn, connection, connect } = await personOfApp();
    const { token } = await letIn('usage');
    const { id = '' } = (await connection()) ?? {};
    const terms = { accountId: account.id, name: 'one of many', scopes: ['usage'], connection: { id, device: null } };
    for (let i = 0; i < 99; i++) await issueKey(t.gateway.kernel, t.gateway.kernel.sql, terms);
    assert.equal((await connect(token, { device: randomUUID() })).status, 201);
    const { status, body } = await connect(token);
    assert.deepEqual([status, body.error.code], [429, 'quota_exceeded']);
  });
});
