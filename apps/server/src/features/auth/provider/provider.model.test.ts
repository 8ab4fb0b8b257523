import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'light-my-request';
import { loadConfig } from '../../../config.ts';
import { masterKeyFile, rotateMasterKey } from '../../../master-key.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { shared } from '../../../testing.shared.ts';
import {
  createAccount,
  http,
  masterKey,
  openTest,
  startGateway,
  type TestAccount,
  testDatabase,
  type TestGateway,
} from '../../../testing.ts';
import { Connections } from '../../connections/index.ts';
import { Identity } from '../auth.identity.ts';
import { AuthServer } from '../auth.serve.ts';
import { Guesses } from '../people/guesses.ts';
import { PasswordHashing } from '../people/hashing.ts';

function configOf({ target }: Awaited<ReturnType<typeof testDatabase>>, dataDir: string) {
  if (!('embedded' in target)) throw new Error('test databases are embedded');
  const { socketDir, user } = target.embedded;
  const url = `postgres://${user}@${encodeURIComponent(socketDir)}/${target.database}`;
  return loadConfig({}, { SVC_DATABASE_URL: url, SVC_DATA_DIR: dataDir });
}

const redirectUri = 'https://app.example.test/callback';

describe('codes and refresh tokens, over two gateways', () => {
  const { gateway, second } = shared(() => openTest({ gateways: 2 }));
  const urls = () => [gateway.url, second.url];

  /** An app that an account let in, with a code that was not exchanged. */
  async function letIn(at: TestGateway = gateway, of?: TestAccount) {
    const { kernel } = at;
    const account = of ?? (await createAccount(at));
    const registered = await http(at.url, '/auth/register', {
      method: 'POST',
      body: { client_name: 'App', redirect_uris: [redirectUri] },
      headers: { 'x-forwarded-for': '192.0.2.1' },
    });
    // One network may register ten an hour.
    await kernel.sql`update auth.records set address = null where model = 'Client'`;
    const clientId: string = registered.body.client_id;
    const connections = new Connections(kernel);
    const resource = kernel.config.baseUrl;
    await connections.allow({
      account_id: account.id,
      client_id: clientId,
      name: 'App',
      trust: 'unknown',
      host: null,
      asked: ['heartbeats'],
      scopes: ['heartbeats'],
      resources: [resource],
      by: bySystem,
    });
    const { provider } = await new Identity(kernel, connections).open();
    const grant = new provider.Grant({ accountId: account.id, clientId });
    grant.addOIDCScope('openid offline_access');
    grant.addResourceScope(resource, 'heartbeats');
    const grantId = await grant.save();
    const verifier = randomBytes(32).toString('base64url');
    const client = await provider.Client.find(clientId);
    assert.ok(client);
    const code = await new provider.AuthorizationCode({
      accountId: account.id,
      client,
      grantId,
      redirectUri,
      scope: 'openid offline_access heartbeats',
      resource,
      codeChallenge: createHash('sha256').update(verifier).digest('base64url'),
      codeChallengeMethod: 'S256',
      authTime: Math.floor(Date.now() / 1000),
      expiresWithSession: false,
    } as never).save();
    return {
      form: {
        grant_type: 'authorization_code',
        client_id: clientId,
        code,
        code_verifier: verifier,
        redirect_uri: redirectUri,
        resource,
      },
      clientId,
      account,
    };
  }

  interface Answer {
    status: number;
    body: { access_token?: string; refresh_token?: string; error?: string };
  }

  async function exchange(url: string, form: Record<string, string>): Promise<Answer> {
    const answer = await fetch(`${url}/auth/token`, { method: 'POST', body: new URLSearchParams(form) });
    return { status: answer.status, body: (await answer.json()) as Answer['body'] };
  }

  /** The status of a request with an access token. */
  const use = async ({ body }: Answer, url = gateway.url): Promise<number> =>
    (await http(url, '/v1/keys/connect', { method: 'POST', key: body.access_token ?? 'none', body: {} })).status;

  const refresh = (form: { client_id: string }, token: string | undefined) => ({
    grant_type: 'refresh_token',
    client_id: form.client_id,
    refresh_token: token ?? '',
  });

  test('a code that two exchange at once gives tokens to one at most, and none of these counts afterwards', async () => {
    for (let round = 0; round < 8; round += 1) {
      const { form } = await letIn();
      const answers = await Promise.all([...urls(), ...urls()].map((url) => exchange(url, form)));
      const won = answers.filter(({ status }) => status === 200);
      assert.ok(won.length <= 1, JSON.stringify(answers));
      for (const { body } of answers.filter(({ status }) => status !== 200)) assert.equal(body.error, 'invalid_grant');
      for (const one of won) {
        assert.equal(await use(one), 401);
        assert.equal((await exchange(second.url, refresh(form, one.body.refresh_token))).body.error, 'invalid_grant');
      }
    }
  });

  test('a refresh token that is used twice, at once or later, ends every token of its grant', async () => {
    for (const atOnce of [true, false]) {
      const { form } = await letIn();
      const first = await exchange(gateway.url, form);
      assert.deepEqual([first.status, await use(first)], [200, 201]);
      const asked = refresh(form, first.body.refresh_token);
      const answers = atOnce
        ? await Promise.all(urls().map((url) => exchange(url, asked)))
        : [await exchange(gateway.url, asked), await exchange(second.url, asked)];
      const won = answers.filter(({ status }) => status === 200);
      assert.ok(won.length <= 1, JSON.stringify(answers));
      for (const one of [first, ...won]) {
        assert.equal(await use(one, second.url), 401);
        assert.equal((await exchange(gateway.url, refresh(form, one.body.refresh_token))).status, 400);
      }
    }
  });

  test('what is revoked is refused by the next request of every gateway', async () => {
    const { form, clientId, account } = await letIn();
    const tokens = await exchange(gateway.url, form);
    assert.equal(await use(tokens, second.url), 201);
    const [connection] = (await http(gateway.url, '/v1/connections', { key: account.key })).body.connections;
    assert.equal(connection.client_id, clientId);
    await http(second.url, `/v1/connections/${connection.id}`, { method: 'DELETE', key: account.key });
    for (const url of urls()) assert.equal(await use(tokens, url), 401);
    assert.equal((await exchange(gateway.url, refresh(form, tokens.body.refresh_token))).body.error, 'invalid_grant');
  });

  /** The kernel of a process that dies with its nth statement: this one and all after it never come. */
  function dying(kernel: Kernel, n: number): Kernel {
    let left = n;
    const sql = new Proxy(kernel.sql, {
      apply(target, self, given: unknown[]) {
        // A text with values is a statement, a text alone a name in one.
        if (Array.isArray(given[0]) && 'raw' in (given[0] as object)) left -= 1;
        return left < 0 ? Promise.reject(new Error('the process died')) : Reflect.apply(target, self, given);
      },
    });
    return { ...kernel, sql };
  }

  test('a process that dies between any two statements of an exchange leaves one exchange at most', async () => {
    let [died, statements] = [true, 0];
    for (; died; statements += 1) {
      const { form } = await letIn();
      const kernel = dying(gateway.kernel, statements);
      const connections = new Connections(kernel);
      const identity = new Identity(kernel, connections);
      await identity.open().catch(() => undefined);
      const parts = {
        kernel,
        identity,
        connections,
        hashing: new PasswordHashing(),
        guesses: new Guesses(kernel),
        mail: undefined,
      };
      const server = new AuthServer(parts);
      const before = await inject(
        (request, response) =>
          void server
            .handle({ request, response, rest: 'token', traceId: 't', address: '192.0.2.1', kernel })
            .catch(() => response.writeHead(500).end('{}')),
        {
          method: 'POST',
          url: '/auth/token',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: new URLSearchParams(form).toString(),
        },
      );
      died = before.statusCode !== 200;
      const after = await exchange(second.url, form);
      assert.ok(!(after.status === 200 && before.statusCode === 200), `after ${statements} statements`);
      if (after.status === 200) assert.equal(await use(after), 201);
      assert.ok(statements < 40, 'an exchange ends');
    }
    assert.ok(statements > 3);
  });

  test('an account keeps its newest grants to an app, and an app the newest refresh tokens of one', async () => {
    const { form, clientId, account } = await letIn();
    const { kernel } = gateway;
    const { provider } = await new Identity(kernel, new Connections(kernel)).open();
    let last = await exchange(gateway.url, form);
    for (let n = 0; n < 55; n += 1) last = await exchange(gateway.url, refresh(form, last.body.refresh_token));
    const counted = async (model: string): Promise<number> =>
      (await kernel.sql`select from auth.records where account_id = ${account.id} and model = ${model}`).count;
    assert.equal(await counted('RefreshToken'), 50);
    assert.equal(await use(last), 201);
    for (let n = 0; n < 25; n += 1) await new provider.Grant({ accountId: account.id, clientId }).save();
    assert.equal(await counted('Grant'), 20);
    assert.equal(await counted('RefreshToken'), 0, 'of a grant that is gone nothing is left');
    assert.equal(await use(last), 401);
  });

  test('a rotation of the master key keeps grants and refresh tokens, and the keys that sign', async (context) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'svc-rotate-'));
    context.after(() => rmSync(dataDir, { recursive: true }));
    writeFileSync(join(dataDir, masterKeyFile), masterKey);
    await using database = await testDatabase();
    let before: { form: Awaited<ReturnType<typeof letIn>>['form']; tokens: Answer; keys: object } | undefined;
    {
      await using own = await openTest({ database });
      const { form } = await letIn(own.gateway, own.account);
      const tokens = await exchange(own.gateway.url, form);
      const { body: keys } = await http(own.gateway.url, '/auth/jwks');
      before = { form, tokens, keys };
    }
    const { sealed } = await rotateMasterKey(configOf(database, dataDir), undefined);
    assert.ok(sealed >= 6);
    const key = readFileSync(join(dataDir, masterKeyFile), 'utf8').trim();
    await using after = await startGateway(database, { settings: { SVC_MASTER_KEY: key } });
    const again = await exchange(after.url, refresh(before.form, before.tokens.body.refresh_token));
    assert.deepEqual([again.status, await use(again, after.url)], [200, 201]);
    assert.deepEqual((await http(after.url, '/auth/jwks')).body, before.keys);
  });
});
