import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { inject } from 'light-my-request';
import { loadConfig } from '../../../config.ts';
import { masterKeyFile, rotateMasterKey } from '../../../master-key.ts';
import { systemClock, testClock } from '../../../kernel/base/clock.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { shared } from '../../../testing.shared.ts';
import {
  asOwner,
  createAccount,
  http,
  masterKey,
  openTest,
  startGateway,
  type TestAccount,
  testDatabase,
  type TestGateway,
  until,
} from '../../../testing.ts';
import { Connections } from '../../connections/index.ts';
import { issueKey } from '../../keys/index.ts';
import { Identity } from '../auth.identity.ts';
import { AuthServer } from '../auth.serve.ts';
import { Guesses } from '../people/guesses.ts';
import { PasswordHashing } from '../people/hashing.ts';
import { hashOfId } from './adapter.ts';
import { sweepRecordsJob } from './jobs.ts';

function configOf({ target }: Awaited<ReturnType<typeof testDatabase>>, dataDir: string) {
  if (!('embedded' in target)) throw new Error('test databases are embedded');
  const { socketDir, user } = target.embedded;
  const url = `postgres://${user}@${encodeURIComponent(socketDir)}/${target.database}`;
  return loadConfig({}, { SVC_DATABASE_URL: url, SVC_DATA_DIR: dataDir });
}

const redirectUri = 'https://app.example.test/callback';

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** A stream that remembers what was written. */
function memory(): { stream: Writable; text: () => string } {
  const written: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(written).toString() };
}

describe('codes and refresh tokens, over two gateways', () => {
  // Its timers are real: the gateways' watch over their database goes on.
  let turned = 0;
  const now = (): number => Date.now() + turned;
  const clock = { ...systemClock, now, instant: () => new Date(now()).toISOString() };
  const log = memory();
  const { database, gateway, second } = shared(() =>
    openTest({
      gateways: 2,
      clock,
      log: log.stream,
      settings: { SVC_LOG_LEVEL: 'trace', SVC_TRUSTED_PROXIES: '127.0.0.1' },
    }),
  );
  const urls = () => [gateway.url, second.url];

  /** An app that an account let in, with a code that was not exchanged, and a device's code that was let in too. */
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
    assert.equal(registered.status, 201, JSON.stringify(registered.body));
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
      /** A code of a device that was let in, for an app of the operator. */
      async device() {
        const id = randomUUID();
        await kernel.sql`insert into auth.clients (id, name, redirect_uris) values (${id}, 'App', ${[redirectUri]})`;
        await connections.allow({
          account_id: account.id,
          client_id: id,
          name: 'App',
          trust: 'registered',
          host: null,
          asked: ['heartbeats'],
          scopes: ['heartbeats'],
          resources: [resource],
          by: bySystem,
        });
        const own = new provider.Grant({ accountId: account.id, clientId: id });
        own.addOIDCScope('openid offline_access');
        own.addResourceScope(resource, 'heartbeats');
        const deviceCode = await new provider.DeviceCode({
          accountId: account.id,
          client: await provider.Client.find(id),
          grantId: await own.save(),
          scope: 'openid offline_access heartbeats',
          resource,
          authTime: Math.floor(Date.now() / 1000),
          expiresWithSession: false,
          userCode: id,
          params: {},
        } as never).save();
        return { grant_type: deviceGrant, client_id: id, device_code: deviceCode };
      },
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
    text: string;
    body: { access_token?: string; refresh_token?: string; scope?: string; error?: string };
  }

  async function exchange(url: string, form: Record<string, string>, address = '192.0.2.1'): Promise<Answer> {
    const answer = await fetch(`${url}/auth/token`, {
      method: 'POST',
      headers: { 'x-forwarded-for': address },
      body: new URLSearchParams(form),
    });
    const text = await answer.text();
    return { status: answer.status, text, body: JSON.parse(text) as Answer['body'] };
  }

  /** The status of a request with an access token. */
  const use = async ({ body }: Answer, url = gateway.url): Promise<number> =>
    (await http(url, '/v1/keys/connect', { method: 'POST', key: body.access_token ?? 'none', body: {} })).status;

  const refresh = (form: { client_id: string }, token: string | undefined) => ({
    grant_type: 'refresh_token',
    client_id: form.client_id,
    refresh_token: token ?? '',
  });

  /** Asks both gateways for the same, so often in all, at once, from networks of which each may ask 600 times a minute. */
  const atOnce = (form: Record<string, string>, times: number, ask = exchange): Promise<Answer[]> =>
    Promise.all(Array.from({ length: times }, (_, n) => ask(urls()[n % 2] ?? '', form, `198.51.100.${n % 100}`)));

  /** The same until it is not told to try again, as some of many are on a busy machine. */
  async function insist(...asked: Parameters<typeof exchange>): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await exchange(...asked);
      if (answer.status !== 503 || tries === 20) return answer;
    }
  }

  test('of all that exchange a code at once one gets tokens; these end when it is used again 10 s later', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { form } = await letIn();
      const answers = await atOnce(form, 4);
      const [won, ...more] = answers.filter(({ status }) => status === 200);
      assert.ok(won && more.length === 0, JSON.stringify(answers));
      turned += 8_000;
      const late = await exchange(second.url, form);
      for (const { body } of [late, ...answers.filter((one) => one !== won)]) assert.equal(body.error, 'invalid_grant');
      assert.equal(await use(won), 201);
      turned += 2_500;
      assert.equal((await exchange(gateway.url, form)).body.error, 'invalid_grant');
      assert.equal(await use(won), 401);
      assert.equal((await exchange(second.url, refresh(form, won.body.refresh_token))).body.error, 'invalid_grant');
    }
  });

  /** How many refresh tokens an account has, and answers that are kept. */
  async function kept({ id }: TestAccount): Promise<{ tokens: number; answers: number; bytes: Buffer[] }> {
    const rows = await gateway.kernel.sql<{ model: string; answer: Buffer | null }[]>`
      select model, answer from auth.records where account_id = ${id}`;
    const bytes = rows.flatMap(({ answer }) => (answer ? [answer] : []));
    return { tokens: rows.filter(({ model }) => model === 'RefreshToken').length, answers: bytes.length, bytes };
  }

  test('refreshes of one token at once get one successor and the same answer, byte for byte', async () => {
    const { form, account } = await letIn();
    const first = await exchange(gateway.url, form);
    const asked = refresh(form, first.body.refresh_token);
    const answers = await atOnce(asked, Number(process.env['SVC_TEST_REFRESHES'] ?? 100), insist);
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200], JSON.stringify(answers[0]));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    turned += 100_000;
    const again = await fetch(`${second.url}/auth/token`, { method: 'POST', body: new URLSearchParams(asked) });
    assert.deepEqual(
      [await again.text(), again.headers.get('content-type'), again.headers.get('cache-control')],
      [answers[0]?.text, 'application/json; charset=utf-8', 'no-store'],
    );
    const { tokens, bytes } = await kept(account);
    assert.equal(tokens, 2);
    assert.equal(bytes.length, 1);
    for (const text of [answers[0]?.text ?? '', answers[0]?.body.refresh_token ?? ''])
      assert.ok(text !== '' && !bytes[0]?.includes(text), 'it is kept sealed');
    assert.equal(await use(answers[0] as Answer), 201);
    assert.equal((await exchange(gateway.url, refresh(form, answers[0]?.body.refresh_token))).status, 200);
  });

  test('a refresh token that is used again after the grace ends every token of its grant, and the keys made with them', async () => {
    const { form, account } = await letIn();
    const first = await exchange(gateway.url, form);
    const key = { key: first.body.access_token ?? '' };
    const connected = await http(gateway.url, '/v1/keys/connect', { method: 'POST', ...key, body: {} });
    const { id: accountId } = account;
    const child = { accountId, name: 'child', scopes: ['heartbeats'], parentId: connected.body.id as string };
    const { text: made } = await issueKey(gateway.kernel, gateway.kernel.sql, child);
    const looks = () =>
      Promise.all(
        [connected.body.key, made].map(async (one) => (await http(second.url, '/v1/heartbeats', { key: one })).status),
      );
    assert.deepEqual(await looks(), [200, 200]);
    const asked = refresh(form, first.body.refresh_token);
    const next = await exchange(gateway.url, asked);
    turned += 121_000;
    await sweepRecordsJob.run(gateway.kernel);
    assert.deepEqual((await kept(account)).answers, 0, 'what is not given again is not kept');
    assert.equal((await exchange(second.url, asked)).body.error, 'invalid_grant');
    for (const one of [first, next]) {
      assert.equal(await use(one, second.url), 401);
      assert.equal((await exchange(gateway.url, refresh(form, one.body.refresh_token))).status, 400);
    }
    assert.deepEqual(await looks(), [401, 401]);
    const told = await http(gateway.url, '/v1/notifications?type=connection.stolen', { key: account.key });
    assert.equal(told.body.notifications.length, 1, 'once, however often it is used again');
  });

  test('of refreshes at once that ask for different things each gets what it asked for, and the same successor', async () => {
    for (const at of ['once', 'later']) {
      const { form } = await letIn();
      const first = await exchange(gateway.url, form);
      const asked = refresh(form, first.body.refresh_token);
      const less = { ...asked, scope: 'openid offline_access' };
      const answers =
        at === 'once'
          ? await Promise.all([insist(gateway.url, asked), insist(second.url, less)])
          : [await exchange(gateway.url, asked), await exchange(second.url, less)];
      const statuses = answers.map(({ status }) => status);
      assert.deepEqual(statuses, [200, 200], JSON.stringify(answers));
      assert.deepEqual(
        answers.map(({ body }) => body.scope?.includes('heartbeats')),
        [true, false],
      );
      assert.deepEqual(await Promise.all(answers.map((one) => use(one))), [201, 201]);
      assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
      assert.equal((await exchange(second.url, refresh(form, answers[1]?.body.refresh_token))).status, 200);
    }
  });

  test('an answer is given to its app alone, and to nobody once the app is disconnected', async () => {
    const { form, account, clientId } = await letIn();
    const first = await exchange(gateway.url, form);
    const asked = refresh(form, first.body.refresh_token);
    const next = await exchange(gateway.url, asked);
    const { form: other } = await letIn();
    const stolen = await exchange(gateway.url, { ...asked, client_id: other.client_id });
    assert.equal(stolen.body.error, 'invalid_grant');
    assert.equal((await exchange(second.url, asked)).text, next.text, 'and the other one ended nothing');
    const { connections } = (await http(gateway.url, '/v1/connections', { key: account.key })).body;
    const { id } = (connections as { id: string; client_id: string }[]).find((one) => one.client_id === clientId) ?? {};
    await http(second.url, `/v1/connections/${id}`, { method: 'DELETE', key: account.key });
    assert.deepEqual(await kept(account), { tokens: 0, answers: 0, bytes: [] });
    for (const url of urls()) {
      assert.equal((await exchange(url, asked)).body.error, 'invalid_grant');
      assert.equal(await use(next, url), 401);
    }
  });

  const waiting = (): Promise<number> =>
    asOwner(database, async (sql) => {
      const { count } = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      return count;
    });

  /** Does `work` while a transaction has the refresh tokens of an account that were not used, which ends once `ready`. */
  const whileHeld = <T>(
    { id }: TestAccount,
    work: () => Promise<T>,
    ready: (done: Promise<T>) => unknown,
  ): Promise<T> =>
    asOwner(database, async (sql) => {
      const { done } = await sql.begin(async (tx) => {
        await tx`
          select from auth.records
          where account_id = ${id} and model = 'RefreshToken' and consumed_at is null for update`;
        const begun = work();
        await ready(begun);
        return { done: begun };
      });
      return done;
    });

  test('a second use waits for the first; when that takes too long it is told to try again, and nothing ends', async () => {
    const { form, account } = await letIn();
    const asked = refresh(form, (await exchange(gateway.url, form)).body.refresh_token);
    const late = await whileHeld(
      account,
      () => atOnce(asked, 2),
      (done) => done,
    );
    assert.deepEqual(
      late.map(({ status, body }) => [status, body.error]),
      Array.from({ length: 2 }, () => [503, 'temporarily_unavailable']),
    );
    const both = await whileHeld(
      account,
      () => atOnce(asked, 2),
      () => until(async () => (await waiting()) === 2),
    );
    assert.deepEqual([both[0]?.status, both[0]?.text], [200, both[1]?.text]);
    assert.equal(await use(both[0] as Answer), 201);
    assert.match(log.text(), /an exchange was not kept/);
    for (const secret of [asked.refresh_token, both[0]?.body.refresh_token ?? '', both[0]?.body.access_token ?? ''])
      assert.ok(secret !== '' && !log.text().includes(secret), 'no log has a token');
  });

  test('an app that is disconnected while it refreshes has nothing afterwards', async () => {
    for (const isRefreshFirst of [true, false]) {
      const { form, account } = await letIn();
      const asked = refresh(form, (await exchange(gateway.url, form)).body.refresh_token);
      const { connections } = (await http(gateway.url, '/v1/connections', { key: account.key })).body;
      const { id } = connections[0] as { id: string };
      const disconnect = () => http(second.url, `/v1/connections/${id}`, { method: 'DELETE', key: account.key });
      const ask = () => exchange(gateway.url, asked);
      const answer = await whileHeld(
        account,
        async () => {
          const ended = isRefreshFirst ? undefined : disconnect();
          if (ended) await until(async () => (await waiting()) === 1);
          const asking = ask();
          if (!ended) await until(async () => (await waiting()) === 1);
          await (ended ?? disconnect());
          return asking;
        },
        () => until(async () => (await waiting()) === 2),
      );
      if (answer.status === 200) assert.equal(await use(answer), 401);
      for (const token of [asked.refresh_token, answer.body.refresh_token])
        assert.equal((await exchange(second.url, refresh(form, token))).status, 400);
      assert.equal((await kept(account)).answers, 0);
    }
  });

  test('a code of a device that is asked with twice at once, or again, gives the same tokens', async () => {
    const device = await (await letIn()).device();
    const answers = await atOnce(device, 4);
    turned += 60_000;
    answers.push(await exchange(second.url, device));
    assert.deepEqual(
      [answers[0]?.status, new Set(answers.map(({ text }) => text)).size],
      [200, 1],
      JSON.stringify(answers[0]),
    );
    const [won] = answers as [Answer];
    assert.equal(await use(won), 201);
    turned += 61_000;
    assert.equal((await exchange(gateway.url, device)).body.error, 'invalid_grant');
    assert.equal(await use(won), 401);
  });

  test('a gateway that was frozen for a minute renews its lease, and answers a refresh', async () => {
    const frozen = testClock();
    await using own = await openTest({ clock: frozen });
    const { form } = await letIn(own.gateway);
    const first = await exchange(own.gateway.url, form);
    frozen.advance(60_000);
    const next = await exchange(own.gateway.url, refresh(form, first.body.refresh_token));
    assert.equal(next.status, 200, next.text);
  });

  test('with a grace of 0 a second use, at once or later, ends what was given', async () => {
    await using own = await openTest({ gateways: 2, settings: { SVC_REFRESH_GRACE_S: '0' } });
    for (const isAtOnce of [true, false]) {
      const { form } = await letIn(own.gateway);
      const first = await exchange(own.gateway.url, form);
      const asked = refresh(form, first.body.refresh_token);
      const answers = isAtOnce
        ? await Promise.all([own.gateway, own.second].map(({ url }) => exchange(url, asked)))
        : [await exchange(own.gateway.url, asked), await exchange(own.second.url, asked)];
      const won = answers.filter(({ status }) => status === 200);
      assert.equal(won.length, 1, JSON.stringify(answers));
      for (const one of [first, ...won]) {
        assert.equal(await use(one, own.second.url), 401);
        assert.equal((await exchange(own.gateway.url, refresh(form, one.body.refresh_token))).status, 400);
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
    const counted = <T extends object>(sql: T): T =>
      new Proxy(sql, {
        apply(target, self, given: unknown[]) {
          // A text with values is a statement, a text alone a name in one.
          if (Array.isArray(given[0]) && 'raw' in (given[0] as object)) left -= 1;
          if (left >= 0) return Reflect.apply(target as () => unknown, self, given);
          const died = Promise.reject(new Error('the process died'));
          // It may be a part of a statement, which nobody waits for.
          died.catch(() => {});
          return died;
        },
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (name !== 'begin') return value;
          // The statement after the last of a transaction is its commit.
          return async (work: (tx: object) => Promise<unknown>) =>
            (value as (work: (tx: object) => Promise<unknown>) => Promise<unknown>).call(target, async (tx) => {
              const result = await work(counted(tx));
              left -= 1;
              if (left < 0) throw new Error('the process died');
              return result;
            });
        },
      });
    return { ...kernel, sql: counted(kernel.sql) };
  }

  /** What a process answers to an exchange that dies with its nth statement. */
  async function answerOfDying(n: number, form: Record<string, string>): Promise<{ status: number; text: string }> {
    const kernel = dying(gateway.kernel, n);
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
    const { statusCode, payload } = await inject(
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
    return { status: statusCode, text: payload };
  }

  test('a process that dies between any two statements of an exchange leaves one exchange at most', async () => {
    let [died, statements] = [true, 0];
    for (; died; statements += 1) {
      const { form } = await letIn();
      const before = await answerOfDying(statements, form);
      died = before.status !== 200;
      const after = await exchange(second.url, form);
      assert.ok(!(after.status === 200 && before.status === 200), `after ${statements} statements`);
      if (after.status === 200) assert.equal(await use(after), 201);
      assert.ok(statements < 40, 'an exchange ends');
    }
    assert.ok(statements > 3);
  });

  test('a process that dies between any two statements of a refresh loses nothing: the next one gets tokens', async () => {
    const { form } = await letIn();
    let tokens = await exchange(gateway.url, form);
    let [died, statements] = [true, 0];
    for (; died; statements += 1) {
      const asked = refresh(form, tokens.body.refresh_token);
      const before = await answerOfDying(statements, asked);
      died = before.status !== 200;
      tokens = await exchange(second.url, asked);
      assert.equal(tokens.status, 200, `after ${statements} statements: ${tokens.text}`);
      assert.equal(await use(tokens), 201);
      if (before.status === 200) assert.equal(tokens.text, before.text);
      assert.ok(statements < 40, 'a refresh ends');
    }
    assert.ok(statements > 3);
  });

  test('an account keeps the grants to an app that are used, and an app the newest refresh tokens of one', async () => {
    const { form, clientId, account } = await letIn();
    const { kernel } = gateway;
    const { provider } = await new Identity(kernel, new Connections(kernel)).open();
    let last = await exchange(gateway.url, form);
    const again = async () => {
      last = await exchange(gateway.url, refresh(form, last.body.refresh_token));
      assert.equal(last.status, 200, last.text);
    };
    for (let n = 0; n < 55; n += 1) await again();
    const counted = async (model: string): Promise<number> =>
      (await kernel.sql`select from auth.records where account_id = ${account.id} and model = ${model}`).count;
    assert.equal(await counted('RefreshToken'), 50);
    assert.equal(await use(last), 201);
    const more = async (count: number) => {
      for (let n = 0; n < count; n += 1) await new provider.Grant({ accountId: account.id, clientId }).save();
    };
    for (let n = 0; n < 3; n += 1) {
      await more(15);
      await again();
    }
    assert.equal(await use(last), 201, 'it was made first, and is used');
    await more(25);
    assert.equal(await counted('Grant'), 20);
    assert.equal(await counted('RefreshToken'), 0, 'of a grant that is gone nothing is left');
    assert.equal(await use(last), 401);
  });

  /** Days until the records of an app end, by their kind. */
  const daysLeft = async (clientId: string, at: TestGateway = gateway): Promise<Record<string, number>> => {
    const rows = await at.kernel.sql<{ model: string; days: number }[]>`
      select model, round(max(extract(epoch from expires_at - now())) / 86400)::int as days from auth.records
      where client_id = ${clientId} or (model = 'Client' and id_hash = ${hashOfId(at.kernel, 'Client', clientId)})
      group by model`;
    return Object.fromEntries(rows.map(({ model, days }) => [model, days]));
  };
  /** Has so many days pass for what an app holds: the database's clock counts. */
  const pass = (clientId: string, days: number) =>
    asOwner(
      database,
      (sql) => sql`
        update auth.records set expires_at = expires_at - make_interval(days => ${days})
        where client_id = ${clientId} or (model = 'Client' and id_hash = ${hashOfId(gateway.kernel, 'Client', clientId)})`,
    );

  test('an app is signed in for 90 days from its last refresh, and its registration is there as long', async () => {
    const { form, clientId, account } = await letIn();
    const listed = async () => (await http(gateway.url, '/v1/connections', { key: account.key })).body.connections[0];
    assert.equal((await listed()).ends_at, undefined);
    let last = await exchange(gateway.url, form);
    assert.equal(Math.round((Date.parse((await listed()).ends_at) - Date.now()) / 86_400_000), 90);
    const { expires_in: seconds, id_token: idToken = '' } = JSON.parse(last.text) as {
      expires_in: number;
      id_token?: string;
    };
    const claims = JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString()) as {
      exp: number;
      iat: number;
    };
    assert.deepEqual([seconds, claims.exp - claims.iat], [3_600, 300]);
    for (let times = 1; times <= 3; times += 1) {
      assert.deepEqual(
        { ...(await daysLeft(clientId)), AccessToken: 0, AuthorizationCode: 0 },
        { Grant: 730 - 80 * (times - 1), RefreshToken: 90, Client: 91, AccessToken: 0, AuthorizationCode: 0 },
      );
      await pass(clientId, 80);
      last = await exchange(second.url, refresh(form, last.body.refresh_token));
      assert.equal(last.status, 200, last.text);
    }
    await pass(clientId, 90);
    assert.equal((await exchange(gateway.url, refresh(form, last.body.refresh_token))).body.error, 'invalid_grant');
  });

  test('a person is asked again when the time of a grant is over, however much it is used', async () => {
    const settings = { SVC_GRANT_MAX_DAYS: '3', SVC_GRANT_IDLE_DAYS: '2' };
    await using own = await openTest({ settings });
    const { form, clientId } = await letIn(own.gateway);
    const first = await exchange(own.gateway.url, form);
    const { RefreshToken: fresh, Grant: whole } = await daysLeft(clientId, own.gateway);
    assert.deepEqual([fresh, whole], [2, 3]);
    await using later = await startGateway(own.database, { settings: { ...settings, SVC_GRANT_IDLE_DAYS: '30' } });
    const next = await exchange(later.url, refresh(form, first.body.refresh_token));
    assert.equal(next.status, 200);
    assert.equal((await daysLeft(clientId, later))['RefreshToken'], 3, 'no token lives longer than its grant');
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
