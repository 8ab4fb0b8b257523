import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { environmentOf } from '../environments/environments.testing.ts';
import { signIn } from '../me/me.testing.ts';
import { newBrowser } from '../notifications/notifications.testing.ts';
import { letIn } from './connections.testing.ts';

const sshKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPq1BaCEkRkW7rQ4y0VxM2v9xLrkG0m2Tn8bRzXn1h2k';
const scopes = [
  'environments',
  'environments:terminal',
  'notifications',
  'heartbeats',
  'transcripts',
  'hosts',
  'usage',
];

describe('what an app let in', () => {
  const { gateway } = shared(() =>
    openTest({ settings: { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: '443,9' } }),
  );
  const ask = (key: string, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });
  const ok = async (...request: Parameters<typeof ask>) => {
    const answer = await ask(...request);
    assert.ok(answer.status < 300, `${request[1]} ${request[2]}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  /** A person with an environment in which somebody looks on, and an app that they let in. */
  async function begin() {
    const account = await createAccount(gateway);
    const environment = `/v1/environments/${await environmentOf(gateway, account)}`;
    const looker = await createAccount(gateway);
    await ok(account.key, 'POST', `${environment}/members`, { email: looker.email, role: 'viewer' });
    await ok(looker.key, 'POST', `${environment}/members/me/accept`, {});
    await ok(account.key, 'PUT', `${environment}/ports/4000`, { visibility: 'owner', label: 'Mine' });
    const app = await letIn(gateway, account, scopes, 'registered');
    const shown = async () => (await ok(account.key, 'GET', `/v1/connections/${app.id}`)).connection;
    const disconnect = () => ok(account.key, 'DELETE', `/v1/connections/${app.id}`);
    return { account, environment, looker, app, shown, disconnect };
  }

  /** Everything that lasts and that an app can give others, or itself. */
  async function open({ key }: { key: string }, environment: string, friend: TestAccount, looker: TestAccount) {
    await ok(key, 'POST', `${environment}/members`, { email: friend.email, role: 'maintainer' });
    await ok(friend.key, 'POST', `${environment}/members/me/accept`, {});
    await ok(key, 'PATCH', `${environment}/members/${looker.id}`, { role: 'developer' });
    await ok(key, 'PUT', `${environment}/members/me/ssh-key`, { public_key: sshKey });
    await ok(key, 'PUT', `${environment}/ports/3000`, { visibility: 'public' });
    await ok(key, 'PUT', `${environment}/ports/4000`, { visibility: 'authenticated' });
    const hook = await ok(key, 'POST', '/v1/notifications/webhooks', { name: 'Out', url: 'http://127.0.0.1:9/in' });
    const push = { endpoint: 'https://127.0.0.1:9/push', keys: newBrowser().json, device_name: 'Phone' };
    await ok(key, 'POST', '/v1/push/subscriptions', push);
    const { transcript } = await ok(key, 'POST', '/v1/transcripts', { title: 'Talk' });
    const link = await ok(key, 'POST', `/v1/transcripts/${transcript.id}/shares`, {});
    const { ping_key: pingKey } = await ok(key, 'POST', '/v1/heartbeats/ping-key', {});
    const badge = await ok(key, 'POST', '/v1/heartbeats/badge', {});
    return { hook, link, pingKey, badge: new URL(badge.json_url).pathname };
  }

  test('stands among the connected apps, and is taken back when the app is disconnected', async () => {
    const { account, environment, looker, app, shown, disconnect } = await begin();
    const friend = await createAccount(gateway);
    const { hook, link, badge } = await open(app, environment, friend, looker);
    const { token } = await ok(app.key, 'POST', `${environment}/enroll-token`, {});
    const unanswered = await createAccount(gateway);
    await ok(app.key, 'POST', `${environment}/members`, { email: unanswered.email, role: 'viewer' });
    const { let_in: guests, let_in_total: total } = await shown();
    assert.equal(total, 11);
    assert.deepEqual(
      new Set(guests.map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`)),
      new Set([
        `member ${friend.email}`,
        `member ${unanswered.email}`,
        `role ${looker.email}`,
        'ssh_key Workstation',
        'port 3000, Workstation',
        'port 4000, Workstation',
        'webhook 127.0.0.1:9',
        'push Phone',
        'share Talk',
        'ping_key ',
        'badge ',
      ]),
    );
    assert.equal((await http(gateway.url, badge)).status, 200);

    assert.equal((await disconnect()).taken_back, 11);
    const seen = await ok(account.key, 'GET', environment);
    const members = seen.members.map((one: { email: string; role: string; ssh_public_key: boolean }) => [
      one.email,
      one.role,
      one.ssh_public_key,
    ]);
    assert.deepEqual(members, [
      [account.email, 'owner', false],
      [looker.email, 'viewer', false],
    ]);
    const ports = seen.ports.map((one: { port: number; visibility: string; label: string }) => [
      one.port,
      one.visibility,
    ]);
    assert.deepEqual(ports, [[4000, 'owner']]);
    const kinds = seen.events.slice(0, 6).map(({ kind }: { kind: string }) => kind);
    for (const kind of [
      'invitation_withdrawn',
      'member_removed',
      'member_changed',
      'port_removed',
      'port_published',
      'ssh_key_removed',
    ])
      assert.ok(kinds.includes(kind), kind);
    assert.equal((await ask(friend.key, 'GET', environment)).status, 404);
    assert.equal((await ask(unanswered.key, 'POST', `${environment}/members/me/accept`, {})).status, 404);
    assert.equal((await ask(account.key, 'GET', `/v1/notifications/webhooks/${hook.id}`)).status, 404);
    assert.deepEqual((await ok(account.key, 'GET', '/v1/push/subscriptions')).subscriptions, []);
    assert.equal((await http(gateway.url, `/v1/public/transcripts/${link.token}`)).status, 404);
    assert.equal((await ask(account.key, 'GET', '/v1/heartbeats/ping-key')).status, 404);
    assert.equal((await http(gateway.url, badge)).status, 404);
    const machine = { token, device_id: crypto.randomUUID(), daemon_version: '1', os: 'linux', arch: 'x64' };
    assert.equal((await ask('', 'POST', '/v1/environments/enroll', machine)).status, 401, 'a token that it made');
  });

  test('stays where the person made it their own, and is no more where somebody removed it', async () => {
    const { account, environment, looker, app, shown, disconnect } = await begin();
    const friend = await createAccount(gateway);
    const { hook } = await open(app, environment, friend, looker);
    const login = await signIn(gateway, account);
    await login.ask('PUT', `${environment}/ports/3000`, { visibility: 'public' });
    await login.ask('PUT', `${environment}/members/me/ssh-key`, { public_key: sshKey });
    await login.ask('POST', '/v1/heartbeats/ping-key', {});
    // Who was let in does not stay by changing something.
    await ok(friend.key, 'PATCH', `${environment}/members/${looker.id}`, { role: 'viewer' });
    await ok(friend.key, 'PUT', `${environment}/ports/4000`, { visibility: 'authenticated' });
    await ok(account.key, 'DELETE', `/v1/notifications/webhooks/${hook.id}`);
    assert.equal((await shown()).let_in_total, 6);
    await disconnect();
    const seen = await ok(account.key, 'GET', environment);
    assert.deepEqual(
      seen.ports.map(({ port, visibility }: { port: number; visibility: string }) => [port, visibility]),
      [
        [3000, 'public'],
        [4000, 'owner'],
      ],
    );
    assert.deepEqual(
      seen.members.map(({ role, ssh_public_key: has }: { role: string; ssh_public_key: boolean }) => [role, has]),
      [
        ['owner', true],
        ['viewer', false],
      ],
    );
    assert.equal((await ask(account.key, 'GET', '/v1/heartbeats/ping-key')).status, 200);
  });

  test('gives no environment away: a guest who took the person out is out, and the person owns it again, unless they left', async () => {
    for (const isTaken of [true, false]) {
      const { account, environment, app, disconnect } = await begin();
      const friend = await createAccount(gateway);
      await ok(app.key, 'POST', `${environment}/members`, { email: friend.email, role: 'owner' });
      await ok(friend.key, 'POST', `${environment}/members/me/accept`, {});
      await ok((isTaken ? friend : account).key, 'DELETE', `${environment}/members/${account.id}`);
      await disconnect();
      const [owner, other] = isTaken ? [account, friend] : [friend, account];
      assert.equal((await ok(owner.key, 'GET', environment)).role, 'owner');
      assert.equal((await ask(other.key, 'GET', environment)).status, 404);
    }
  });

  test('is forgotten with an environment and a recording that are gone', async () => {
    const { account, environment, looker, app, shown } = await begin();
    const { link } = await open(app, environment, await createAccount(gateway), looker);
    const [{ id }] = (await ok(account.key, 'GET', '/v1/transcripts')).transcripts;
    await ok(account.key, 'DELETE', `/v1/transcripts/${id}`);
    await ok(account.key, 'POST', `${environment}/destroy`);
    assert.equal((await http(gateway.url, `/v1/public/transcripts/${link.token}`)).status, 404);
    const kinds = (await shown()).let_in.map(({ kind }: { kind: string }) => kind);
    assert.deepEqual(new Set(kinds), new Set(['webhook', 'push', 'ping_key', 'badge']));
  });

  test('is nothing that it does while it is disconnected, whichever comes first', async () => {
    const { account, app, disconnect } = await begin();
    const { sql } = gateway.kernel;
    // Of this database and this app alone: others wait elsewhere.
    const waiting = async (count: number) =>
      (
        await sql`
          select from pg_locks, hashtextextended(${`let in by ${app.id}`}, 0) key
          where locktype = 'advisory' and not granted and objsubid = 1
            and database = (select oid from pg_database where datname = current_database())
            and (classid::bigint << 32 | objid::bigint) = key`
      ).length === count;
    const make = () => ask(app.key, 'POST', '/v1/heartbeats/ping-key', {});
    // A request of the app is under way, and holds what its end waits for; another one comes behind that.
    let isHeld = (): void => {};
    const held = new Promise<void>((resolve) => (isHeld = resolve));
    let letGo = (): void => {};
    const free = new Promise<void>((resolve) => (letGo = resolve));
    const first = sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock_shared(hashtextextended(${`let in by ${app.id}`}, 0))`;
      isHeld();
      await free;
    });
    await held;
    const ended = disconnect();
    await until(() => waiting(1));
    const late = make();
    await until(() => waiting(2));
    letGo();
    await Promise.all([first, ended]);
    assert.equal((await late).status, 401);
    assert.equal((await ask(account.key, 'GET', '/v1/heartbeats/ping-key')).status, 404);
  });

  test('stays, with the app, where a key or another app that may do less would end it', async () => {
    const account = await createAccount(gateway);
    const strong = await letIn(gateway, account, ['connections', 'usage', 'notifications']);
    const weak = await letIn(gateway, account, ['connections', 'usage'], 'registered');
    const make = async (...scopes: string[]) => (await ok(account.key, 'POST', '/v1/keys', { scopes })).key as string;
    const end = async (key: string, id = strong.id) => (await ask(key, 'DELETE', `/v1/connections/${id}`)).status;
    const works = async () => (await ask(strong.key, 'GET', '/v1/usage')).status;
    assert.equal(await end(weak.key), 403);
    assert.equal(await end(await make('connections')), 403);
    // Keys that it was given stay as they were given, whatever the app may do now.
    await gateway.kernel.sql`
      update keys.keys set scopes = '{usage}' where connection_id = ${strong.id} and kind = 'connection'`;
    assert.equal(await end(weak.key), 403);
    assert.equal(await works(), 200);
    // Each ends itself, and what may do as much ends it.
    assert.equal(await end(weak.key, weak.id), 200);
    assert.equal(await end(await make('connections', 'usage', 'notifications')), 200);
    assert.equal(await works(), 401);
    const other = await letIn(gateway, account, ['hosts:read'], 'registered');
    assert.equal(await end(account.key, other.id), 200);
  });

  test('is at most 300 things', async () => {
    const { account, app } = await begin();
    await gateway.kernel.sql`
      insert into kernel.let_in (connection_id, kind, subject, account_id, name)
      select ${app.id}, 'share', n::text, ${account.id}, '' from generate_series(1, 300) n`;
    const { status, body } = await ask(app.key, 'POST', '/v1/heartbeats/ping-key', {});
    assert.deepEqual([status, body.error.code], [429, 'quota_exceeded']);
  });
});
