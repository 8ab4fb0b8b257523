import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { type Contract, contract, environmentRoles, portVisibilities, type Route } from '@svc/contract';
import { accountDeletion } from '../../features.ts';
import { withinOneMinute } from '../../kernel/testing.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import type { EnvironmentRole } from './environments.rows.ts';
import { accept, environmentOf, join } from './environments.testing.ts';

/** An RSA key as OpenSSH writes it. */
function rsaKey(bits: number): string {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const { e = '', n = '' } = publicKey.export({ format: 'jwk' });
  const number = (text: string) => Buffer.concat([Buffer.of(0), Buffer.from(text, 'base64url')]);
  return line('ssh-rsa', Buffer.from(e, 'base64url'), number(n));
}

const line = (type: string, ...parts: Buffer[]): string => {
  const strings = [Buffer.from(type), ...parts].map((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return Buffer.concat([length, part]);
  });
  return `${type} ${Buffer.concat(strings).toString('base64')}`;
};

const ed25519 = line('ssh-ed25519', Buffer.alloc(32, 7));

describe('people of an environment', () => {
  const { gateway } = shared(() => openTest());
  const ask = async ({ key }: Pick<TestAccount, 'key'>, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });

  /** An environment with a member of each role, and a stranger. */
  async function everybody() {
    const owner = await createAccount(gateway);
    const id = await environmentOf(gateway, owner);
    const path = `/v1/environments/${id}`;
    const add = async (role: EnvironmentRole) => {
      const account = await createAccount(gateway);
      await join(gateway, id, { by: owner, account, role });
      return account;
    };
    const people = {
      viewer: await add('viewer'),
      developer: await add('developer'),
      maintainer: await add('maintainer'),
      owner,
    };
    return { id, path, people, add, stranger: await createAccount(gateway) };
  }

  test('whoever is added by an address as it is typed is one member, whatever form it is kept in', async () => {
    const { path, people, stranger } = await everybody();
    const { sql } = gateway.kernel;
    const kept = `${stranger.id}@xn--e1afmkfd.test`;
    await sql`update accounts.accounts set email = ${kept} where id = ${stranger.id}`;
    const add = (email: string) => ask(people.owner, 'POST', `${path}/members`, { email, role: 'viewer' });
    const added = await add(`${stranger.id}@пример.test`);
    assert.equal(added.body.member?.user_id, stranger.id, JSON.stringify(added.body));
    for (const email of [`${stranger.id}@пример.test`, kept])
      assert.equal((await add(email)).body.error?.code, 'already_member');
  });

  test('every route, by role: 404 for a stranger, 403 below the role of the document, and no wider', async () => {
    const least: Record<keyof Contract['environments'], EnvironmentRole | undefined> = {
      list: undefined,
      create: undefined,
      enroll: undefined,
      listInvitations: undefined,
      acceptInvitation: undefined,
      get: 'viewer',
      events: 'viewer',
      listMembers: 'viewer',
      listPorts: 'viewer',
      removeMember: 'maintainer',
      listSecrets: 'developer',
      publishPort: 'developer',
      linkPort: 'developer',
      removePort: 'developer',
      setSshKey: 'developer',
      update: 'maintainer',
      start: 'maintainer',
      stop: 'maintainer',
      archive: 'maintainer',
      enrollToken: 'maintainer',
      addMember: 'maintainer',
      updateMember: 'maintainer',
      setSecret: 'maintainer',
      removeSecret: 'maintainer',
      destroy: 'owner',
    };
    const { id, people, stranger, add } = await everybody();
    const target = await add('viewer');
    const bodies: Record<string, object> = {
      update: { name: 'New' },
      addMember: { email: 'nobody@example.test', role: 'viewer' },
      updateMember: { role: 'viewer' },
      setSshKey: { public_key: 'none' },
      publishPort: { visibility: 'owner' },
      setSecret: { value: 'x' },
    };
    /** Past the role each meets another refusal, or goes well; what would end the environment comes last. */
    const order = (verb: string) => ['archive', 'destroy'].indexOf(verb);
    const verbs = Object.entries(least).toSorted(([a], [b]) => order(a) - order(b));
    for (const [verb, role] of verbs) {
      if (role === undefined) continue;
      const route = (contract.environments as Record<string, Route>)[verb] as Route;
      const path = route.path
        .replace('{id}', id)
        .replace('{port}', '3000')
        .replace('{name}', 'TOKEN')
        .replace('{userId}', target.id);
      for (const [at, of] of environmentRoles.entries()) {
        // The last one may do it: it is not asked, so that those after it meet the same environment.
        if (at > environmentRoles.indexOf(role)) break;
        const { status, body } = await ask(people[of], route.method, path, bodies[verb]);
        const isAllowed: boolean = at === environmentRoles.indexOf(role);
        assert.equal(status === 403, !isAllowed, `${verb} as ${of}: ${status} ${JSON.stringify(body)}`);
      }
      assert.equal((await ask(stranger, route.method, path, bodies[verb])).status, 404, verb);
    }
  });

  test('a key sees with `environments:read`, changes with `environments`, and neither without them, on every route', async () => {
    const { id, path: own, people } = await everybody();
    const keyOf = async (...scopes: string[]) =>
      (await ask(people.owner, 'POST', '/v1/keys', { name: 'k', scopes })).body as { key: string };
    const [reads, writes, other] = [
      await keyOf('environments:read'),
      await keyOf('environments'),
      await keyOf('prompts', 'environments:serve'),
    ];
    const routes = [
      ...Object.entries<Route>(contract.environments).map(([verb, route]) => ({ verb, route, at: '' })),
      { verb: 'status', route: contract.relay.status as Route, at: '/relay' },
    ].filter(({ route }) => route.auth === 'key');
    for (const { verb, route, at } of routes) {
      const path =
        at + route.path.replace('{id}', id).replace('{port}', '1').replace('{name}', 'A').replace('{userId}', id);
      const lacks = async (key: { key: string }) => {
        const { status, body } = await ask(key, route.method, path, route.method === 'GET' ? undefined : {});
        return status === 403 && body.error.message.includes('lacks the scope');
      };
      assert.deepEqual([await lacks(reads), await lacks(other)], [route.method !== 'GET', true], verb);
      assert.equal((await http(gateway.url, path, { method: route.method })).status, 401, verb);
    }
    assert.equal((await ask(writes, 'PATCH', own, { name: 'x' })).status, 200);
    assert.equal((await ask(writes, 'GET', own)).body.environment.name, 'x');
  });

  test('members get a user name and ports of their own, whatever their addresses are', async () => {
    const { path, people } = await everybody();
    const { members } = (await ask(people.viewer, 'GET', `${path}/members`)).body;
    const of = (field: string) => members.map((member: Record<string, unknown>) => member[field]);
    assert.equal(new Set(of('linux_username')).size, 4);
    for (const name of of('linux_username')) assert.match(name, /^[a-z][a-z0-9_-]{0,31}$/);
    assert.deepEqual(of('port_range_start'), [20_000, 20_100, 20_200, 20_300]);
    // Whoever leaves makes room for the next.
    assert.equal((await ask(people.developer, 'DELETE', `${path}/members/${people.developer.id}`)).status, 200);
    const next = await createAccount(gateway);
    const { member } = (await ask(people.maintainer, 'POST', `${path}/members`, { email: next.email, role: 'viewer' }))
      .body;
    assert.equal(member.port_range_start, 20_200);
  });

  test('who is no account, is a member already, or has no such role is refused by its own code', async () => {
    const { path, people } = await everybody();
    const add = (account: TestAccount, body: object) => ask(account, 'POST', `${path}/members`, body);
    assert.equal((await add(people.owner, { email: 'nobody@example.test', role: 'viewer' })).status, 404);
    const again = await add(people.owner, { email: people.viewer.email.toUpperCase(), role: 'viewer' });
    assert.deepEqual([again.status, again.body.error.code], [409, 'already_member']);
    assert.equal((await add(people.owner, { email: people.viewer.email, role: 'admin' })).status, 400);
    assert.equal((await add(people.maintainer, { email: 'nobody@example.test', role: 'owner' })).status, 403);
  });

  test('twenty may be added or tried a minute by an account, whoever they are; others are not kept from it', async () => {
    const { id, path, people } = await everybody();
    const add = (account: TestAccount, email: string) =>
      ask(account, 'POST', `${path}/members`, { email, role: 'viewer' });
    await withinOneMinute(async () => {
      const trier = await createAccount(gateway);
      assert.equal((await add(people.owner, trier.email)).status, 201);
      await accept(gateway, trier, id);
      await ask(people.owner, 'PATCH', `${path}/members/${trier.id}`, { role: 'maintainer' });
      const statuses = [];
      for (let i = 0; i < 20; i += 1) statuses.push((await add(trier, `nobody-${i}@example.test`)).status);
      assert.deepEqual(new Set(statuses), new Set([404]));
      for (const email of ['nobody@example.test', people.viewer.email, (await createAccount(gateway)).email]) {
        const { status, body, headers } = await add(trier, email);
        assert.deepEqual([status, body.error.code], [429, 'rate_limit_exceeded']);
        assert.ok(Number(headers.get('retry-after')) > 0);
      }
      assert.equal((await add(people.maintainer, (await createAccount(gateway)).email)).status, 201);
    });
  });

  test('an environment that is full says so of every address, with an account or without', async () => {
    const { id, path, people } = await everybody();
    const { sql } = gateway.kernel;
    await sql`
      with made as (
        insert into accounts.accounts (email)
        select 'full-' || n || '-' || ${id}::text || '@example.test' from generate_series(5, 200) n returning id)
      insert into environments.members (environment_id, account_id, role, linux_username, place, created_at)
      select ${id}::uuid, id, 'viewer', 'full' || row_number() over (), 10 + row_number() over (), now() from made`;
    const codeOf = async (email: string) =>
      (await ask(people.owner, 'POST', `${path}/members`, { email, role: 'viewer' })).body.error.code;
    assert.equal(await codeOf((await createAccount(gateway)).email), 'quota_exceeded');
    assert.equal(await codeOf('nobody@example.test'), 'quota_exceeded');
    assert.equal(await codeOf(people.viewer.email), 'already_member');
  });

  test('the last owner stays: not lowered, not removed, not gone by itself, by another owner, or with its account', async () => {
    const { path, people, add } = await everybody();
    const { owner, maintainer } = people;
    const own = `${path}/members/${owner.id}`;
    const code = async (account: TestAccount, method: string, body?: object) =>
      (await ask(account, method, own, body)).body.error?.code;
    assert.equal(await code(owner, 'PATCH', { role: 'maintainer' }), 'last_owner');
    assert.equal(await code(owner, 'DELETE'), 'last_owner');
    assert.equal(await code(maintainer, 'PATCH', { role: 'viewer' }), 'forbidden');
    assert.equal(await code(maintainer, 'DELETE'), 'forbidden');
    const refusal = await accountDeletion.refusal(gateway.kernel.sql, owner.id);
    assert.equal(refusal?.mayBeForced, false);
    assert.match(refusal?.why ?? '', /has members and no other owner/);
    const second = await add('owner');
    // Two that lower each other at the same moment: one stays.
    const both = await Promise.all([
      ask(owner, 'PATCH', `${path}/members/${second.id}`, { role: 'viewer' }),
      ask(second, 'PATCH', own, { role: 'viewer' }),
    ]);
    assert.equal(both.filter(({ status }) => status === 200).length, 1, JSON.stringify(both.map(({ body }) => body)));
    const { members, environment } = (await ask(maintainer, 'GET', path)).body;
    const owners = members.filter(({ role }: { role: string }) => role === 'owner');
    assert.equal(owners.length, 1);
    assert.equal(environment.ownerUserId, owners[0].user_id);
  });

  test('an SSH key of another kind, too short, damaged, of two lines or in disguise is a 400; it is never answered', async () => {
    const { path, people } = await everybody();
    const set = (public_key: unknown) => ask(people.developer, 'PUT', `${path}/members/me/ssh-key`, { public_key });
    const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
    const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
    const offCurve = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)]);
    const modulus = Buffer.concat([Buffer.of(0), Buffer.alloc(256, 0xff)]);
    const good = [
      ed25519,
      `${ed25519} ana@laptop`,
      rsaKey(2_048),
      line('ecdsa-sha2-nistp256', Buffer.from('nistp256'), point),
    ];
    for (const key of good)
      assert.deepEqual((await set(key)).body, { user_id: people.developer.id, ssh_public_key: true });
    const disguised = `ssh-ed25519 ${rsaKey(2_048).split(' ')[1]}`;
    const bad = [
      'ssh-dss AAAA',
      rsaKey(1_024),
      disguised,
      `${ed25519}\n${ed25519}`,
      'ssh-ed25519 !!!!',
      'ssh-ed25519',
      '',
      line('ssh-ed25519', Buffer.alloc(31)),
      `command="id" ${ed25519}`,
      `${ed25519} ana\u2028laptop`,
      line('ecdsa-sha2-nistp256', Buffer.from('nistp256'), offCurve),
      ...[Buffer.of(1), Buffer.of(2), Buffer.of(0x83)].map((exponent) => line('ssh-rsa', exponent, modulus)),
      line('ssh-rsa', Buffer.of(3), modulus.subarray(1)),
      line('ssh-rsa', Buffer.of(3), Buffer.alloc(8_000, 0x7f)),
      7,
    ];
    for (const key of bad) assert.equal((await set(key)).status, 400, String(key).slice(0, 60));
    const whole = JSON.stringify((await ask(people.owner, 'GET', path)).body);
    assert.ok(!whole.includes('AAAA'));
    const { members } = (await ask(people.owner, 'GET', `${path}/members`)).body;
    const flags = members.map((member: Record<string, unknown>) => member['ssh_public_key']);
    assert.deepEqual(flags, [false, false, true, false]);
  });

  test('ports are published once each; `public` needs a maintainer, to take it away a developer is enough', async () => {
    const { path, people } = await everybody();
    const put = (account: TestAccount, port: number | string, body: object) =>
      ask(account, 'PUT', `${path}/ports/${port}`, body);
    for (const port of [0, 65_536, -1, '1.5', 'x']) {
      assert.equal((await put(people.owner, port, { visibility: 'owner' })).status, 400, String(port));
    }
    for (const body of [
      { visibility: 'all' },
      {},
      { visibility: 'org', label: 'x'.repeat(65) },
      { visibility: 'org', protocol: 'tcp' },
    ]) {
      assert.equal((await put(people.owner, 80, body)).status, 400, JSON.stringify(body));
    }
    const statuses = await Promise.all(
      portVisibilities.map(async (visibility) => (await put(people.developer, 3_000, { visibility })).status),
    );
    assert.deepEqual(statuses, [200, 200, 200, 403]);
    const { port } = (await put(people.maintainer, 3_000, { visibility: 'public', label: 'web' })).body;
    assert.deepEqual([port.port, port.protocol, port.visibility, port.label], [3_000, 'http', 'public', 'web']);
    assert.deepEqual((await ask(people.viewer, 'GET', `${path}/ports`)).body, { ports: [port] });
    const gone = await ask(people.developer, 'DELETE', `${path}/ports/3000`);
    assert.deepEqual([gone.status, gone.body], [200, { deleted: true, port: 3_000 }]);
    assert.equal((await ask(people.developer, 'DELETE', `${path}/ports/3000`)).status, 404);
  });
});
