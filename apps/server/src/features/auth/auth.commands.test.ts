import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { bySystem } from '../../kernel/records/audit.ts';
import { svcOf } from '../../testing.commands.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { Connections } from '../connections/index.ts';
import { issueKey } from '../keys/index.ts';
import { signIn } from '../me/me.testing.ts';

describe('commands of signing in', () => {
  const { gateway } = shared(() => openTest());
  const svc = (...line: string[]) => svcOf(gateway)(...line);
  const actOf = async (action: string) => {
    const [row] = await gateway.kernel.sql<{ who: string; subject: string }[]>`
      select who, subject from kernel.audit where action = ${action} order by at desc, id desc limit 1`;
    return row && { ...row };
  };

  test('invite makes an account and prints a link that opens; an address that somebody has is refused', async () => {
    const email = `${randomUUID()}@example.test`;
    const level = ['--tool-level', 'l3_sandbox'];
    const made = await svc('accounts', 'invite', '--email', email, '--name', 'Radu', ...level);
    assert.deepEqual([made.email, made.mailed], [email, false]);
    assert.match(made.url, /\/link#[\w-]{43}$/);
    assert.deepEqual(await actOf('auth.createLink').then((act) => act?.who), 'cli');
    const shown = await svc('accounts', 'show', '--email', email);
    assert.deepEqual([shown.name, shown.tool_level], ['Radu', 'l3_sandbox']);
    await assert.rejects(svc('accounts', 'invite', '--email', email), /another account has the address/);
  });

  test('link, logins and sign-out do what operators do, and count on the next request', async () => {
    const account = await createAccount(gateway);
    const login = await signIn(gateway, account);
    assert.match((await svc('accounts', 'link', '--email', account.email)).url, /\/link#/);
    assert.equal(await login.said('GET', '/v1/me'), '200');
    const [listed] = await svc('accounts', 'logins', '--email', account.email);
    assert.deepEqual([listed.id, listed.name, listed.amr], [login.id, 'Firefox on Linux', 'pwd']);
    assert.equal((await svc('accounts', 'sign-out', '--email', account.email)).ended, 1);
    assert.equal(await login.said('GET', '/v1/me'), '401 invalid_api_key');
    assert.equal((await svc('accounts', 'set', '--email', account.email, '--operator', 'on')).operator, true);
    assert.equal((await http(gateway.url, '/v1/accounts', { key: account.key })).status, 200);
  });

  test('clients are registered with a readable id, listed and removed, each with a line in the audit log', async () => {
    const made = await svc('clients', 'create', '--name', 'Field Notes', '--redirect-uri', 'https://notes.example/cb');
    assert.match(made.client_id, /^field-notes-[0-9a-f]{8}$/);
    assert.deepEqual(await actOf('auth.createClient'), { who: 'cli', subject: made.client_id });
    const query = `client_id=${made.client_id}&redirect_uri=https%3A%2F%2Fnotes.example%2Fcb&response_type=code&scope=openid&code_challenge=${'a'.repeat(43)}&code_challenge_method=S256`;
    const ask = () => fetch(`${gateway.url}/auth/authorize?${query}`, { redirect: 'manual' });
    assert.equal((await ask()).status, 303);
    const listed = await svc('clients', 'list');
    assert.deepEqual([listed[0].id, listed[0].name, listed[0].native], [made.client_id, 'Field Notes', false]);
    const account = await createAccount(gateway);
    const consent = { account_id: account.id, client_id: made.client_id, name: 'Field Notes', host: null };
    const connections = new Connections(gateway.kernel);
    const [scopes, resources] = [['usage:read'], [gateway.kernel.config.baseUrl]];
    await connections.allow({ ...consent, trust: 'registered', asked: scopes, scopes, resources, by: bySystem });
    const connected = await connections.of(account.id, made.client_id);
    const connection = { id: connected?.id ?? '', device: null };
    const terms = { accountId: account.id, name: 'Field Notes', scopes, connection };
    const { text: key } = await issueKey(gateway.kernel, gateway.kernel.sql, terms);
    assert.equal((await http(gateway.url, '/v1/usage', { key })).status, 200);
    const removed = await svc('clients', 'remove', made.client_id);
    assert.deepEqual([removed.removed, removed.connections_ended], [true, 1]);
    assert.equal((await http(gateway.url, '/v1/usage', { key })).status, 401);
    assert.equal(await connections.of(account.id, made.client_id), undefined);
    assert.deepEqual(await actOf('auth.removeClient'), { who: 'cli', subject: made.client_id });
    assert.equal((await ask()).status, 400);
    await assert.rejects(svc('clients', 'remove', made.client_id), /no app has the id/);
  });

  test('a client gets no address that others could listen at', async () => {
    const create = (uri: string, ...more: string[]) =>
      svc('clients', 'create', '--name', 'x', '--redirect-uri', uri, ...more);
    for (const uri of ['http://notes.example/cb', 'nowhere', 'https://notes.example/cb#x', 'http://127.0.0.1/cb'])
      await assert.rejects(create(uri), /must|is no URL/, uri);
    const whole = [
      'https://user@notes.example/cb',
      'https://:secret@notes.example/cb',
      'https://*.notes.example/cb',
      'https://notes.example/*',
      'https://notes.example/cb#',
      'https://notes.example/c b',
      'https://notes.example\\@evil.example/cb',
    ];
    for (const uri of whole) {
      await assert.rejects(create(uri), /must/, uri);
      await assert.rejects(create(uri.replace('https:', 'notes:'), '--native'), /must/, uri);
    }
    for (const uri of ['javascript:alert(1)', 'http://notes.example/cb'])
      await assert.rejects(create(uri, '--native'), /must be https, http on a loopback/, uri);
    for (const uri of ['http://127.0.0.1/cb', 'com.example.notes:/cb'])
      assert.equal((await create(uri, '--native')).native, true, uri);
  });

  test('rotated signing keys are published at once, the former one beside them', async () => {
    const published = async () =>
      (await http(gateway.url, '/auth/jwks')).body.keys.map(({ kid }: { kid: string }) => kid) as string[];
    const before = await published();
    const listed = await svc('auth', 'keys');
    assert.deepEqual(
      listed.map(({ state }: { state: string }) => state),
      ['signs', 'next'],
    );
    assert.equal('private_key' in listed[0], false);
    const after = await svc('auth', 'rotate-keys');
    assert.deepEqual(
      after.map(({ state }: { state: string }) => state),
      ['signs', 'next', 'ended'],
    );
    assert.equal(after[0].id, listed[1].id);
    const now = await published();
    assert.equal(before.every((kid) => now.includes(kid)) && now.length === 3, true);
    assert.equal((await actOf('auth.rotateKeys'))?.who, 'cli');
  });
});
