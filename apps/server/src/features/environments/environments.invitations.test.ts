import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { type Contract, contract, type Route } from '@svc/contract';
import { accountDeletion } from '../../features.ts';
import { byCommand } from '../../kernel/records/audit.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { deleteMarked, markDeleted } from '../accounts/accounts.deletion.ts';
import { accept, environmentOf, invite, join } from './environments.testing.ts';
import { sweepInvitations } from './people/invitations.sql.ts';
import { linuxUsersOf } from './people/users.sql.ts';

describe('invitations into environments', () => {
  const { gateway } = shared(() => openTest());
  const ask = async ({ key }: Pick<TestAccount, 'key'>, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });

  async function invited(role = 'developer') {
    const [owner, person] = [await createAccount(gateway), await createAccount(gateway)];
    const id = await environmentOf(gateway, owner);
    const path = `/v1/environments/${id}`;
    const { cursor } = (await ask(person, 'GET', '/v1/events')).body;
    const add = () => ask(owner, 'POST', `${path}/members`, { email: person.email, role });
    const { status, body } = await add();
    assert.equal(status, 201, JSON.stringify(body));
    const own = `${path}/members/${person.id}`;
    return { id, path, own, owner, person, add, cursor, first: body.member };
  }
  const invitationsOf = async (person: TestAccount) =>
    (await ask(person, 'GET', '/v1/environments/invitations')).body.invitations;
  const inbox = async (person: TestAccount) => (await ask(person, 'GET', '/v1/notifications')).body.notifications;

  test('until somebody accepts, an environment is to them as to a stranger: on every route, in lists, feed and machine', async () => {
    const { id, path, owner, person, cursor, first } = await invited('owner');
    assert.deepEqual([first.accepted_at, first.port_range_start], [null, 20_100]);
    const bodies: Partial<Record<keyof Contract['environments'], object>> = {
      update: { name: 'New' },
      addMember: { email: owner.email, role: 'viewer' },
      updateMember: { role: 'viewer' },
      setSshKey: { public_key: 'none' },
      publishPort: { visibility: 'owner' },
      setSecret: { value: 'x' },
    };
    for (const [verb, route] of Object.entries<Route>(contract.environments)) {
      if (!route.path.includes('{id}') || verb === 'acceptInvitation') continue;
      const of = route.path.replace('{id}', id).replace('{port}', '3000').replace('{name}', 'A');
      const body = bodies[verb as keyof Contract['environments']];
      const { status } = await ask(person, route.method, of.replace('{userId}', owner.id), body);
      assert.equal(status, 404, verb);
    }
    for (const list of ['/v1/environments', '/v1/projects', '/v1/overview/find?q=Workstation']) {
      const { body } = await ask(person, 'GET', list);
      assert.ok(!JSON.stringify(body).includes(id), list);
    }
    assert.equal((await ask(person, 'GET', `/relay${path}/status`)).status, 404);
    assert.deepEqual(
      (await linuxUsersOf(gateway.kernel.sql, id)).map(({ user_id: of }) => of),
      [owner.id],
    );
    await ask(owner, 'PATCH', path, { name: 'Renamed' });
    const since = `/v1/events?after=${cursor}&topics=environments`;
    assert.deepEqual((await ask(person, 'GET', since)).body.events, []);
    const [one] = await invitationsOf(person);
    assert.deepEqual(one, {
      user_id: person.id,
      environment_id: id,
      environment_name: 'Renamed',
      role: 'owner',
      invited_by: { user_id: owner.id, email: owner.email },
      created_at: one.created_at,
    });
    const resolutions = async () => (await inbox(person)).map(({ resolution }: { resolution?: string }) => resolution);
    assert.deepEqual(await resolutions(), [undefined]);
    await accept(gateway, person, id);
    assert.deepEqual(await resolutions(), ['accepted']);
    const { role, members } = (await ask(person, 'GET', path)).body;
    assert.deepEqual([role, members.length, members[1].accepted_at === null], ['owner', 2, false]);
    assert.equal(members[1].linux_username, first.linux_username);
    assert.deepEqual(await invitationsOf(person), []);
    // Again, it is who they are; a row that a release left which knew of no invitations goes.
    await gateway.kernel.sql`
      insert into environments.invitations (environment_id, account_id, role, linux_username, place, created_at)
      values (${id}, ${person.id}, 'viewer', 'x', 7, now())`;
    await accept(gateway, person, id);
    assert.equal((await ask(owner, 'GET', path)).body.members.length, 2);
  });

  test('two that accept at once are one member, and nobody accepts what was not sent, was declined, or is destroyed', async () => {
    const { id, path, own, owner, person, add } = await invited();
    const stranger = await createAccount(gateway);
    const take = (who: TestAccount) => ask(who, 'POST', `${path}/members/me/accept`);
    assert.equal((await take(stranger)).status, 404);
    const both = await Promise.all([take(person), take(person)]);
    assert.deepEqual(
      both.map(({ status }) => status),
      [200, 200],
    );
    assert.equal((await ask(owner, 'GET', path)).body.members.length, 2);
    assert.equal((await ask(person, 'DELETE', own)).status, 200);
    assert.equal((await add()).status, 201);
    assert.equal((await ask(person, 'DELETE', own)).status, 200);
    assert.equal((await take(person)).status, 404);
    const other = await createAccount(gateway);
    await invite(gateway, { id, by: owner, email: other.email, role: 'viewer' });
    await ask(owner, 'POST', `${path}/destroy`);
    assert.equal((await take(other)).status, 404);
    assert.deepEqual(await invitationsOf(other), []);
  });

  test('nobody sees or accepts what a suspended account sent, until it goes on', async () => {
    const { path, owner, person } = await invited();
    const { sql } = gateway.kernel;
    await sql`update accounts.accounts set suspended_at = now() where id = ${owner.id}`;
    assert.equal((await ask(person, 'POST', `${path}/members/me/accept`)).status, 404);
    assert.deepEqual(await invitationsOf(person), []);
    await sql`update accounts.accounts set suspended_at = null where id = ${owner.id}`;
    assert.equal((await invitationsOf(person)).length, 1);
    assert.equal((await ask(person, 'POST', `${path}/members/me/accept`)).status, 200);
  });

  test('an invitation is by the word of who gave its role last, and of nobody who may not give it', async () => {
    const { id, path, owner, person: maintainer } = await invited('maintainer');
    await accept(gateway, maintainer, id);
    const person = await createAccount(gateway);
    await invite(gateway, { id, by: maintainer, email: person.email, role: 'viewer' });
    const of = `${path}/members/${person.id}`;
    assert.equal((await ask(owner, 'PATCH', of, { role: 'owner' })).status, 200);
    await ask(owner, 'PATCH', `${path}/members/${maintainer.id}`, { role: 'viewer' });
    const [{ invited_by: by, role }] = await invitationsOf(person);
    assert.deepEqual([by.user_id, role], [owner.id, 'owner']);
    const { sql } = gateway.kernel;
    for (const [who, now, status] of [
      [maintainer, 'viewer', 404],
      [maintainer, 'maintainer', 404],
      [owner, 'viewer', 200],
    ] as const) {
      await sql`update environments.members set role = ${now} where account_id = ${maintainer.id} and environment_id = ${id}`;
      await sql`update environments.invitations set invited_by = ${who.id} where account_id = ${person.id}`;
      assert.equal((await ask(person, 'POST', `${path}/members/me/accept`)).status, status, now);
    }
  });

  test('who accepted stays a member when the one who invited them is taken out; who has not is out at once', async () => {
    const { id, path, own, owner, person } = await invited('maintainer');
    await accept(gateway, person, id);
    const [guest, late] = [await createAccount(gateway), await createAccount(gateway)];
    for (const { email } of [guest, late])
      assert.equal((await ask(person, 'POST', `${path}/members`, { email, role: 'viewer' })).status, 201);
    await accept(gateway, guest, id);
    assert.equal((await ask(owner, 'DELETE', own)).status, 200);
    const { members } = (await ask(owner, 'GET', `${path}/members`)).body;
    assert.deepEqual(members.map((one: { user_id: string }) => one.user_id).sort(), [owner.id, guest.id].sort());
    assert.equal((await ask(guest, 'GET', path)).status, 200);
    assert.deepEqual([await invitationsOf(late), (await ask(late, 'GET', path)).status], [[], 404]);
  });

  test('whoever leaves, or is taken out, leaves no invitation behind that a release left beside the membership', async () => {
    for (const isMe of [true, false]) {
      const { id, path, own, owner, person } = await invited();
      await accept(gateway, person, id);
      await gateway.kernel.sql`
        insert into environments.invitations (environment_id, account_id, invited_by, role, linux_username, place, created_at)
        values (${id}, ${person.id}, ${owner.id}, 'viewer', 'x', 7, now())`;
      assert.equal((await ask(isMe ? person : owner, 'DELETE', own)).status, 200);
      assert.equal((await ask(person, 'GET', path)).status, 404);
      assert.equal((await ask(owner, 'GET', path)).body.members.length, 1);
      assert.equal((await ask(person, 'POST', `${path}/members/me/accept`)).status, 404);
    }
  });

  test('a no is not told to the environment, which cannot ask again for 30 days and is answered as if it did', async () => {
    const { path, own, owner, person, add, first } = await invited();
    const members = async () => (await ask(owner, 'GET', path)).body.members;
    const events = async () => (await ask(owner, 'GET', `${path}/events`)).body.events;
    const before = [await members(), await events()];
    const { status, body } = await ask(person, 'DELETE', own);
    assert.deepEqual([status, body], [200, { deleted: true, user_id: person.id }]);
    assert.deepEqual([await members(), await events()], before);
    assert.equal((await ask(person, 'DELETE', own)).status, 404);
    assert.equal((await ask(owner, 'DELETE', own)).status, 200);
    assert.equal((await members()).length, 1);
    const again = await add();
    assert.deepEqual([again.status, again.body.member], [201, first]);
    assert.deepEqual([await invitationsOf(person), (await inbox(person)).length], [[], 1]);
    assert.equal((await ask(owner, 'DELETE', own)).status, 200);
    const { sql } = gateway.kernel;
    const left = async () => (await sql`select from environments.invitations where account_id = ${person.id}`).length;
    for (const [days, rows] of [
      [29, 1],
      [2, 0],
    ] as const) {
      await sql`
        update environments.invitations set created_at = created_at - make_interval(days => ${days}),
          declined_at = declined_at - make_interval(days => ${days}) where account_id = ${person.id}`;
      await sweepInvitations(sql, gateway.kernel.clock);
      assert.equal(await left(), rows);
    }
    assert.equal((await add()).status, 201);
    assert.equal((await invitationsOf(person)).length, 1);
  });

  test('who adds and takes out somebody in a loop, in however many environments, tells them once a day, in our words', async () => {
    const { own, owner, person, add } = await invited();
    const bait = 'You won! https://evil.example/';
    for (let n = 0; n < 5; n += 1) {
      assert.equal((await ask(owner, 'DELETE', own)).status, 200);
      assert.equal((await add()).status, 201);
    }
    const second = await environmentOf(gateway, owner);
    await ask(owner, 'PATCH', `/v1/environments/${second}`, { name: bait });
    await invite(gateway, { id: second, by: owner, email: person.email, role: 'viewer' });
    const all = await inbox(person);
    assert.deepEqual(
      all.map(({ title }: { title: string }) => title),
      [`${owner.email} invites you to an environment`],
    );
    assert.ok(!JSON.stringify(all).includes('evil'));
    assert.equal((await invitationsOf(person)).length, 2);
    await gateway.kernel.sql`
      update notifications.notifications set dedupe_key = 'yesterday' where account_id = ${person.id}`;
    await ask(owner, 'DELETE', own);
    await add();
    assert.equal((await inbox(person)).length, 2);
  });

  test('names that strangers chose are bounded, and turn nothing that is shown beside them', async () => {
    const { path, owner, person } = await invited();
    await ask(owner, 'PATCH', path, { name: 'a\u202Eb\u001b[2J' });
    const [{ environment_name: name }] = await invitationsOf(person);
    assert.equal(name, String.raw`a\u{202e}b\u{1b}[2J`);
  });

  test('colleagues of one organisation are members at once, and nobody else is', async () => {
    const [owner, colleague, person] = [
      await createAccount(gateway),
      await createAccount(gateway),
      await createAccount(gateway),
    ];
    const { sql } = gateway.kernel;
    const [org] = await sql<{ id: string }[]>`insert into orgs.orgs (name) values ('o') returning id`;
    for (const { id } of [owner, colleague])
      await sql`insert into orgs.members (org_id, account_id, role) values (${org?.id ?? ''}, ${id}, 'member')`;
    const path = `/v1/environments/${await environmentOf(gateway, owner)}`;
    const add = async ({ email }: TestAccount) =>
      (await ask(owner, 'POST', `${path}/members`, { email, role: 'viewer' })).body.member.accepted_at;
    assert.notEqual(await add(colleague), null);
    assert.equal(await add(person), null);
    assert.equal((await ask(colleague, 'GET', path)).status, 200);
    const [{ title }] = await inbox(colleague);
    assert.equal(title, `${owner.email} made you viewer of an environment`);
  });

  test('a hundred wait for a person; past it the oldest of whoever sent most goes, and no newcomer is refused', async () => {
    const [friend, loud, person] = [
      await createAccount(gateway),
      await createAccount(gateway),
      await createAccount(gateway),
    ];
    const own = await environmentOf(gateway, friend);
    await invite(gateway, { id: own, by: friend, email: person.email, role: 'viewer' });
    const { sql } = gateway.kernel;
    const id = await environmentOf(gateway, loud);
    await sql`
      with made as (
        insert into environments.environments (account_id, project_id, isolation, name, slug, provider, state,
          idle_timeout_minutes, metadata, created_at, updated_at)
        select account_id, project_id, isolation, n::text, slug || '-' || n, provider, state, 30, '{}', created_at, updated_at
        from environments.environments, generate_series(1, 120) n where id = ${id} returning id, name, created_at)
      insert into environments.invitations (environment_id, account_id, invited_by, role, linux_username, place, created_at)
      select id, ${person.id}, ${loud.id}, 'viewer', 'x', 1, created_at - make_interval(secs => 120 - name::int) from made`;
    // As if an app had sent them.
    const app = randomUUID();
    await sql`
      insert into kernel.let_in (connection_id, kind, subject, account_id, name)
      select ${app}, 'member', environment_id || '/' || account_id, ${loud.id}, '' from environments.invitations
      where invited_by = ${loud.id}`;
    await invite(gateway, { id, by: loud, email: person.email, role: 'viewer' });
    const newcomer = await createAccount(gateway);
    const last = await environmentOf(gateway, newcomer);
    await invite(gateway, { id: last, by: newcomer, email: person.email, role: 'viewer' });
    const waiting: { environment_id: string; environment_name: string }[] = await invitationsOf(person);
    const ids = waiting.map(({ environment_id: of }) => of);
    assert.deepEqual([ids.length, ids.includes(own), ids.includes(last)], [100, true, true]);
    const left = waiting.map(({ environment_name: name }) => Number(name)).filter((n) => n > 0);
    assert.equal(Math.min(...left), 120 - left.length + 1, 'the oldest are gone');
    const noted = await sql`select from kernel.let_in where connection_id = ${app}`;
    assert.equal(noted.length, left.length, 'and nobody is a guest by them');
  });

  test('what somebody sent goes with the role that let them send it, or their account; what was declined stays so', async () => {
    const { id, path, owner, person: maintainer } = await invited('maintainer');
    await accept(gateway, maintainer, id);
    const people = [await createAccount(gateway), await createAccount(gateway)] as const;
    const send = async ({ email }: TestAccount) => {
      await invite(gateway, { id, by: maintainer, email, role: 'viewer' });
    };
    const counts = async () => [(await invitationsOf(people[0])).length, (await invitationsOf(people[1])).length];
    const of = `${path}/members/${maintainer.id}`;
    await send(people[0]);
    await send(people[1]);
    await ask(people[1], 'DELETE', `${path}/members/${people[1].id}`);
    const end = async ({ id: accountId, email }: TestAccount) => {
      await markDeleted(gateway.kernel, accountId, byCommand);
      await deleteMarked(gateway.kernel, accountDeletion.data, { accountId, email }, byCommand);
    };
    await ask(owner, 'PATCH', of, { role: 'maintainer' });
    assert.deepEqual(await counts(), [1, 0]);
    await ask(owner, 'PATCH', of, { role: 'viewer' });
    assert.deepEqual(await counts(), [0, 0]);
    await ask(owner, 'PATCH', of, { role: 'maintainer' });
    await send(people[0]);
    await ask(owner, 'DELETE', of);
    assert.deepEqual(await counts(), [0, 0]);
    await join(gateway, id, { by: owner, account: maintainer, role: 'maintainer' });
    await send(people[0]);
    await ask(owner, 'DELETE', `${path}/members/${people[1].id}`);
    await send(people[1]);
    assert.deepEqual(await counts(), [1, 0]);
    await end(maintainer);
    assert.deepEqual(await counts(), [0, 0]);
    const mine = await environmentOf(gateway, owner);
    await invite(gateway, { id: mine, by: owner, email: people[0].email, role: 'viewer' });
    await end(people[0]);
    assert.equal((await ask(owner, 'GET', `/v1/environments/${mine}`)).body.members.length, 1);
  });

  test('that is raised is told again, once for a role, and only what its person was shown is accepted', async () => {
    const { id, path, own, owner, person } = await invited('viewer');
    const bodies = async () => (await inbox(person)).map(({ body }: { body: string }) => body.split('.')[0]);
    const be = (role: string) => ask(owner, 'PATCH', own, { role });
    for (const role of ['developer', 'owner', 'viewer', 'owner']) await be(role);
    assert.deepEqual(await bodies(), ['As owner', 'As developer', 'As viewer']);
    const accepting = (role: string) => ask(person, 'POST', `${path}/members/me/accept`, { role });
    const { status, body } = await accepting('viewer');
    assert.deepEqual([status, body.error.code], [409, 'invitation_changed']);
    assert.deepEqual([(await invitationsOf(person)).length, (await ask(person, 'GET', path)).status], [1, 404]);
    assert.equal((await accepting('owner')).body.member.role, 'owner');
    const declining = await invited('viewer');
    await ask(declining.person, 'DELETE', declining.own);
    await ask(declining.owner, 'PATCH', declining.own, { role: 'owner' });
    assert.equal((await inbox(declining.person)).length, 1, 'whoever declined hears nothing of it');
    assert.ok(id);
  });
});
