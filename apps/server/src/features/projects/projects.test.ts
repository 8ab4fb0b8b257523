import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { accountDeletion } from '../../features.ts';
import { byCommand } from '../../kernel/records/audit.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { deleteMarked, markDeleted } from '../accounts/accounts.deletion.ts';
import { environmentOf } from '../environments/environments.testing.ts';
import { slugOf } from './projects.slug.ts';

describe('projects', () => {
  const { gateway } = shared(() => openTest());
  const ask = async ({ key }: TestAccount, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });
  const made = async (account: TestAccount, fields: object = {}) =>
    (await ask(account, 'POST', '/v1/projects', { name: 'Shop', ...fields })).body.project;

  /** An organisation with these members by role. */
  async function orgOf(...members: [TestAccount, 'owner' | 'admin' | 'member'][]): Promise<string> {
    const { sql } = gateway.kernel;
    const [org] = await sql<{ id: string }[]>`insert into orgs.orgs (name) values ('Team') returning id`;
    for (const [{ id }, role] of members) {
      await sql`insert into orgs.members (org_id, account_id, role) values (${org?.id ?? ''}, ${id}, ${role})`;
    }
    return org?.id ?? '';
  }

  test('one that is made has the defaults of the document, and is answered by id and in the list, newest first', async () => {
    const account = await createAccount(gateway);
    const answer = await ask(account, 'POST', '/v1/projects', { name: 'Čez Hub 2!' });
    assert.equal(answer.status, 201);
    const { project } = answer.body;
    assert.deepEqual(
      [project.slug, project.isolation, project.orgId, project.repoUrl, project.settings, project.ownerUserId],
      ['cez-hub-2', 'shared_vm', null, null, {}, account.id],
    );
    const newer = await made(account);
    assert.deepEqual((await ask(account, 'GET', `/v1/projects/${project.id}`)).body, { project, environments: [] });
    const listed = (await ask(account, 'GET', '/v1/projects')).body.projects;
    assert.deepEqual(listed, [newer, project]);
  });

  test('bad input is a 400 that names its field, and a slug of one’s own a 409; that of somebody else is free', async () => {
    const account = await createAccount(gateway);
    await made(account, { slug: 'taken' });
    const bad: Record<string, object[]> = {
      slug: ['ab', 'a'.repeat(41), 'Upper', '-dash', 'dash-', 'a b', 7].map((slug) => ({ slug })),
      name: ['', ' ', 'x'.repeat(121), null, 7].map((name) => ({ name })),
      isolation: [{ isolation: 'vm' }],
      repo_url: ['http://a.test/x', 'file:///etc/passwd', 'https://ana:pw@a.test/x', 'x'].map((repo_url) => ({
        repo_url,
      })),
      org_id: [{ org_id: 'x' }],
      settings: [{ settings: { a: 'x'.repeat(16_001) } }, { settings: [] }],
    };
    for (const [field, bodies] of Object.entries(bad)) {
      for (const body of bodies) {
        const answer = await ask(account, 'POST', '/v1/projects', { name: 'x', ...body });
        assert.equal(answer.status, 400, JSON.stringify(body));
        assert.ok(answer.body.error.details.fieldErrors[field], JSON.stringify(answer.body));
      }
    }
    const again = await ask(account, 'POST', '/v1/projects', { name: 'x', slug: 'taken' });
    assert.deepEqual([again.status, again.body.error.code], [409, 'slug_taken']);
    const other = await createAccount(gateway);
    assert.equal((await made(other, { slug: 'taken' })).slug, 'taken');
    for (const slug of ['abc', 'a'.repeat(40)]) assert.equal((await made(other, { slug })).slug, slug);
  });

  test('a change takes what is named, null sets back, and the slug cannot be changed', async () => {
    const account = await createAccount(gateway);
    const { id, slug } = await made(account, { repo_url: 'https://a.test/x.git', settings: { a: 1 } });
    const change = (body: object) => ask(account, 'PATCH', `/v1/projects/${id}`, body);
    const changed = (await change({ name: 'New', default_branch: 'trunk', isolation: 'container' })).body.project;
    assert.deepEqual(
      [changed.name, changed.defaultBranch, changed.isolation, changed.repoUrl, changed.settings, changed.slug],
      ['New', 'trunk', 'container', 'https://a.test/x.git', { a: 1 }, slug],
    );
    const back = (await change({ repo_url: null, default_branch: null, settings: null, isolation: null })).body.project;
    assert.deepEqual(
      [back.repoUrl, back.defaultBranch, back.settings, back.isolation],
      [null, 'main', {}, 'shared_vm'],
    );
    for (const bad of ['ssh://-oProxyCommand=x/y', 'https://token@a.test/x.git'])
      assert.equal((await change({ repo_url: bad })).status, 400, bad);
    for (const body of [{ default_branch: '--upload-pack=x' }, { devcontainer_path: '../../etc' }])
      assert.equal((await change(body)).status, 400);
    for (const body of [{}, { slug: 'other' }, { name: null }]) assert.equal((await change(body)).status, 400);
  });

  test('an organisation: its owners and admins make and change, its members see, all others get 404', async () => {
    const [owner, admin, member, stranger] = await Promise.all([1, 2, 3, 4].map(() => createAccount(gateway)));
    assert.ok(owner && admin && member && stranger);
    const org = await orgOf([owner, 'owner'], [admin, 'admin'], [member, 'member']);
    const create = (account: TestAccount) => ask(account, 'POST', '/v1/projects', { name: 'Ours', org_id: org });
    assert.equal((await create(member)).status, 403);
    assert.equal((await create(stranger)).status, 404);
    assert.equal((await ask(owner, 'POST', '/v1/projects', { name: 'x', org_id: randomUUID() })).status, 404);
    const { project } = (await create(admin)).body;
    const statuses = async (method: string, body?: object) =>
      Promise.all(
        [owner, admin, member, stranger].map(
          async (account) => (await ask(account, method, `/v1/projects/${project.id}`, body)).status,
        ),
      );
    assert.deepEqual(await statuses('GET'), [200, 200, 200, 404]);
    assert.deepEqual(await statuses('PATCH', { name: 'Changed' }), [200, 200, 403, 404]);
    for (const account of [owner, admin, member]) {
      const { projects } = (await ask(account, 'GET', '/v1/projects')).body;
      assert.ok(projects.some(({ id }: { id: string }) => id === project.id));
    }
    assert.equal((await ask(member, 'DELETE', `/v1/projects/${project.id}`)).status, 403);
    assert.equal((await ask(owner, 'DELETE', `/v1/projects/${project.id}`)).status, 200);
  });

  test('it is deleted once all of its environments are destroyed, and not before', async () => {
    const account = await createAccount(gateway);
    const { id } = await made(account);
    const environment = await environmentOf(gateway, account, id);
    assert.deepEqual((await ask(account, 'DELETE', `/v1/projects/${id}`)).body.error.code, 'project_has_environments');
    assert.equal((await ask(account, 'POST', `/v1/environments/${environment}/archive`)).status, 200);
    assert.equal((await ask(account, 'DELETE', `/v1/projects/${id}`)).status, 409);
    assert.equal((await ask(account, 'POST', `/v1/environments/${environment}/destroy`)).status, 200);
    assert.deepEqual((await ask(account, 'DELETE', `/v1/projects/${id}`)).body, { deleted: true, id });
    assert.equal((await ask(account, 'GET', `/v1/projects/${id}`)).status, 404);
  });

  test('when its owner’s account is deleted it goes to who works in it, else to its organisation, else away', async () => {
    const [leaver, worker, boss] = await Promise.all([1, 2, 3].map(() => createAccount(gateway)));
    assert.ok(leaver && worker && boss);
    const org = await orgOf([leaver, 'admin'], [boss, 'owner'], [worker, 'member']);
    const [worked, ofOrg, alone] = [
      await made(leaver, { name: 'worked', isolation: 'vm_per_dev', org_id: org }),
      await made(leaver, { name: 'of the org', org_id: org }),
      await made(leaver, { name: 'alone' }),
    ];
    // A slug that the heir has already.
    await made(worker, { slug: worked.slug });
    await environmentOf(gateway, worker, worked.id);
    await environmentOf(gateway, leaver, alone.id);
    const { kernel } = gateway;
    await markDeleted(kernel, leaver.id, byCommand);
    await deleteMarked(kernel, accountDeletion.data, { accountId: leaver.id, email: leaver.email }, byCommand);
    const ownerOf = async (id: string) => (await ask(boss, 'GET', `/v1/projects/${id}`)).body.project?.ownerUserId;
    assert.deepEqual(await Promise.all([worked.id, ofOrg.id, alone.id].map(ownerOf)), [worker.id, boss.id, undefined]);
    const [row] = await kernel.sql`select from projects.projects where id = ${alone.id}`;
    assert.equal(row, undefined);
  });

  test('a slug comes from any name', () => {
    for (const [name, slug] of [
      ['Shop', 'shop'],
      ['Q', 'project-q'],
      ['日本', 'project'],
      ['  --a--b--  ', 'a-b'],
      ['x'.repeat(60), 'x'.repeat(40)],
    ] as const) {
      assert.equal(slugOf(name), slug);
    }
  });
});
