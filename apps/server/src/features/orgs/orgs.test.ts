import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { svcOf } from '../../testing.commands.ts';
import { shared } from '../../testing.shared.ts';
import { environmentOf, projectOf } from '../environments/environments.testing.ts';
import { mayStillReach } from '../environments/index.ts';

describe('organisations', () => {
  const { gateway } = shared(() => openTest());
  const svc = svcOf(gateway);
  const ask = async ({ key }: TestAccount, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });

  async function begin() {
    const [boss, admin] = [await createAccount(gateway), await createAccount(gateway)];
    const { org_id: org } = await svc('orgs', 'create', '--name', 'Works', '--owner', boss.email);
    await svc('orgs', 'add', '--org', org, '--email', admin.email, '--role', 'admin');
    const remove = ({ email }: TestAccount) => svc('orgs', 'remove', '--org', org, '--email', email);
    return { boss, admin, org: org as string, remove };
  }

  test('an operator sees every organisation, and who is in one with which role', async () => {
    const { boss, admin, org } = await begin();
    const listed = (await svc('orgs', 'list')).find((one: { org_id: string }) => one.org_id === org);
    assert.deepEqual([listed.name, listed.owners, listed.members], ['Works', 1, 2]);
    const members = await svc('orgs', 'show', '--org', org);
    assert.deepEqual(
      members.map(({ email, role }: { email: string; role: string }) => [email, role]),
      [
        [boss.email, 'owner'],
        [admin.email, 'admin'],
      ],
    );
    await assert.rejects(svc('orgs', 'show', '--org', boss.id), { message: /no such organisation/ });
  });

  test('who is taken out has nothing by the organisation from then on: projects, roles, open ports', async () => {
    const { boss, admin, org, remove } = await begin();
    const project = await projectOf(gateway, admin, { org_id: org });
    const id = await environmentOf(gateway, boss, project);
    await ask(boss, 'POST', `/v1/environments/${id}/members`, { email: admin.email, role: 'developer' });
    await ask(boss, 'PUT', `/v1/environments/${id}/ports/3000`, { visibility: 'org' });
    await gateway.kernel.sql`update environments.environments set state = 'running' where id = ${id}`;
    const reaches = () =>
      mayStillReach(gateway.kernel.sql, [
        { environmentId: id, accountId: admin.id, port: 3000, isPublished: true },
        { environmentId: id, accountId: admin.id, port: null },
      ]);
    assert.deepEqual(await reaches(), [true, true]);
    const done = await remove(admin);
    assert.deepEqual([done.left_environments.length, done.still_owns, done.projects_passed_on], [1, undefined, 1]);
    assert.deepEqual(await reaches(), [false, false]);
    assert.equal((await ask(admin, 'GET', `/v1/environments/${id}`)).status, 404);
    assert.equal((await ask(admin, 'GET', `/v1/projects/${project}`)).status, 404);
    assert.equal((await ask(admin, 'POST', '/v1/projects', { name: 'x', org_id: org })).status, 404);
    // The project stays changeable: by the owner of the organisation.
    assert.equal((await ask(boss, 'PATCH', `/v1/projects/${project}`, { name: 'Ours' })).status, 200);
    const { events } = (await ask(boss, 'GET', `/v1/environments/${id}/events`)).body;
    assert.equal(events[0].kind, 'member_removed');
    const { notifications } = (await ask(admin, 'GET', '/v1/notifications')).body;
    const told = notifications.filter(({ type }: { type: string }) => type === 'org.removed');
    assert.equal(told.length, 1);
    assert.equal(told[0].title, 'You were taken out of the organisation Works');
    const acts = await gateway.kernel.sql`
      select 1 from kernel.audit where action = 'orgs.remove' and account_id = ${admin.id} and subject = ${org}`;
    assert.equal(acts.length, 1);
    await assert.rejects(remove(admin), { message: /no member/ });
  });

  test('what they made passes to an owner who can sign in, and nobody is taken out where there is none', async () => {
    const { boss, admin, org, remove } = await begin();
    const other = await createAccount(gateway);
    const project = await projectOf(gateway, admin, { org_id: org });
    await svc('accounts', 'suspend', '--email', boss.email);
    await assert.rejects(remove(admin), { message: /an owner who can sign in/ });
    await svc('orgs', 'add', '--org', org, '--email', other.email, '--role', 'owner');
    assert.equal((await remove(admin)).projects_passed_on, 1);
    assert.equal((await ask(other, 'PATCH', `/v1/projects/${project}`, { name: 'Mine now' })).status, 200);
  });

  test('what nobody else agreed to own stays with who is taken out, and is named', async () => {
    const { boss, admin, org, remove } = await begin();
    const project = await projectOf(gateway, boss, { org_id: org });
    const id = await environmentOf(gateway, admin, project);
    const done = await remove(admin);
    assert.deepEqual([done.left_environments, done.still_owns.length], [[], 1]);
    assert.equal((await ask(admin, 'GET', `/v1/environments/${id}`)).body.environment.ownerUserId, admin.id);
  });

  test('an environment that is made while its maker is taken out is named, and nothing is made afterwards', async () => {
    const { boss, admin, org, remove } = await begin();
    const project = await projectOf(gateway, boss, { org_id: org });
    const { sql } = gateway.kernel;
    const waiting = async () => {
      const rows = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      return rows.length;
    };
    const locked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const holder = sql.begin(async (tx) => {
      await tx`lock table environments.environments in exclusive mode`;
      locked.resolve();
      await goOn.promise;
    });
    await locked.promise;
    const made = environmentOf(gateway, admin, project);
    await until(async () => (await waiting()) === 1);
    let isOut = false;
    const out = remove(admin).finally(() => {
      isOut = true;
    });
    await until(async () => isOut || (await waiting()) === 2);
    goOn.resolve();
    await holder;
    const [id, done] = await Promise.all([made, out]);
    assert.deepEqual([done.left_environments, done.still_owns.length], [[], 1]);
    assert.equal((await ask(admin, 'GET', `/v1/environments/${id}`)).body.environment.ownerUserId, admin.id);
    assert.equal((await ask(admin, 'POST', '/v1/projects', { name: 'x', org_id: org })).status, 404);
  });

  test('the last owner of an organisation stays', async () => {
    const { boss, admin, org, remove } = await begin();
    await assert.rejects(remove(boss), { message: /needs an owner/ });
    assert.equal((await svc('orgs', 'show', '--org', org)).length, 2);
    await svc('orgs', 'add', '--org', org, '--email', admin.email, '--role', 'owner');
    await remove(boss);
    assert.equal((await svc('orgs', 'show', '--org', org)).length, 1);
  });
});
