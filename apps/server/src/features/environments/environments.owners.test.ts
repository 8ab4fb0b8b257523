import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { accountDeletion } from '../../features.ts';
import { byCommand } from '../../kernel/records/audit.ts';
import { shared } from '../../testing.shared.ts';
import { svcOf } from '../../testing.commands.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { deleteMarked, markDeleted } from '../accounts/accounts.deletion.ts';
import { accept, environmentOf, join, projectOf } from './environments.testing.ts';
import { environmentsQuota } from './environments.sql.ts';

describe('whose an environment is', () => {
  const { gateway } = shared(() => openTest());
  const ask = async ({ key }: Pick<TestAccount, 'key'>, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });
  const countOf = ({ id }: TestAccount) => environmentsQuota.count(gateway.kernel.sql, id);
  const told = async (who: TestAccount, type: string) =>
    (await ask(who, 'GET', `/v1/notifications?type=${type}`)).body.notifications.filter(
      (one: { type: string }) => one.type === type,
    );

  async function begin() {
    const [eve, ann] = [await createAccount(gateway), await createAccount(gateway)];
    const id = await environmentOf(gateway, eve);
    const path = `/v1/environments/${id}`;
    return {
      eve,
      ann,
      id,
      path,
      leave: async (who: TestAccount) => {
        const { status, body } = await ask(who, 'DELETE', `${path}/members/${who.id}`);
        return status === 200 ? 200 : (body.error.code as string);
      },
      ownerOf: async (who: TestAccount) => (await ask(who, 'GET', path)).body.environment?.ownerUserId,
    };
  }

  async function colleagues(...people: TestAccount[]): Promise<void> {
    const { sql } = gateway.kernel;
    const [org] = await sql<{ id: string }[]>`insert into orgs.orgs (name) values ('o') returning id`;
    for (const { id } of people)
      await sql`insert into orgs.members (org_id, account_id, role) values (${org?.id ?? ''}, ${id}, 'member')`;
  }

  test('a colleague who is to be an owner accepts that first, and the maker cannot leave it to them before', async () => {
    const { eve, ann, id, path, leave, ownerOf } = await begin();
    await colleagues(eve, ann);
    const { body } = await ask(eve, 'POST', `${path}/members`, { email: ann.email, role: 'owner' });
    assert.equal(body.member.accepted_at, null);
    assert.deepEqual([await leave(eve), await countOf(ann)], ['last_owner', 0]);
    await accept(gateway, ann, id);
    assert.deepEqual([await leave(eve), await countOf(ann), await ownerOf(ann)], [200, 1, ann.id]);
    const [one] = await told(ann, 'environment.handed_over');
    assert.match(one.title, /is yours now/);
  });

  test('who is raised to owner has the rights, and the environment passes to them once they agree; they may leave before', async () => {
    for (const agrees of [true, false]) {
      const { eve, ann, id, path, leave, ownerOf } = await begin();
      await join(gateway, id, { by: eve, account: ann, role: 'developer' });
      const { member } = (await ask(eve, 'PATCH', `${path}/members/${ann.id}`, { role: 'owner' })).body;
      assert.deepEqual([member.role, member.agreed_to_own], ['owner', false]);
      const [{ title }] = await told(ann, 'environment.owner_asked');
      assert.equal(title, `${eve.email} made you owner of an environment`);
      assert.equal(await leave(eve), 'last_owner');
      const lowered = await ask(eve, 'PATCH', `${path}/members/${eve.id}`, { role: 'viewer' });
      assert.equal(lowered.body.error.code, 'last_owner');
      // Nor does it by taking out who has it.
      const out = await ask(ann, 'DELETE', `${path}/members/${eve.id}`);
      assert.deepEqual([out.body.error.code, await ownerOf(ann), await countOf(ann)], ['last_owner', eve.id, 0]);
      if (!agrees) {
        assert.equal(await leave(ann), 200);
        continue;
      }
      await accept(gateway, ann, id);
      assert.equal((await ask(eve, 'PATCH', `${path}/members/${eve.id}`, { role: 'viewer' })).status, 200);
      assert.deepEqual([await ownerOf(eve), await countOf(ann)], [ann.id, 1]);
      assert.equal((await told(ann, 'environment.handed_over')).length, 1);
      assert.equal((await told(eve, 'environment.handed_over')).length, 0);
    }
  });

  test('an agreement ends with the role: who is lowered and raised again is asked again', async () => {
    const { eve, ann, id, path, leave } = await begin();
    await join(gateway, id, { by: eve, account: ann, role: 'owner' });
    for (const role of ['viewer', 'owner']) await ask(eve, 'PATCH', `${path}/members/${ann.id}`, { role });
    assert.equal(await leave(eve), 'last_owner');
    const { members } = (await ask(eve, 'GET', path)).body;
    assert.deepEqual(
      members.map(({ agreed_to_own: has }: { agreed_to_own: boolean }) => has),
      [true, false],
    );
  });

  test('what others make in a project is not its owner’s to pay when they leave, who can take it away', async () => {
    const { eve, ann } = await begin();
    const project = await projectOf(gateway, ann);
    const first = await environmentOf(gateway, ann, project);
    await join(gateway, first, { by: ann, account: eve, role: 'viewer' });
    const id = await environmentOf(gateway, eve, project);
    const path = `/v1/environments/${id}`;
    assert.equal((await ask(eve, 'DELETE', `${path}/members/${eve.id}`)).body.error.code, 'last_owner');
    assert.equal(await countOf(ann), 1);
    assert.equal((await ask(ann, 'POST', `${path}/destroy`)).status, 200);
  });

  test('a guest takes what they made in a project from nobody who owns it: neither the role nor the sight of it', async () => {
    const { eve: guest, ann } = await begin();
    const project = await projectOf(gateway, ann);
    await join(gateway, await environmentOf(gateway, ann, project), { by: ann, account: guest, role: 'viewer' });
    const path = `/v1/environments/${await environmentOf(gateway, guest, project)}`;
    const own = `${path}/members/${ann.id}`;
    assert.equal((await ask(guest, 'PATCH', own, { role: 'viewer' })).status, 403);
    const refused = await ask(guest, 'DELETE', own);
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
    // What they own themselves is taken from them as before, once somebody else agreed to own it.
    assert.equal((await ask(ann, 'PATCH', own, { role: 'owner' })).status, 200);
    assert.equal((await ask(ann, 'POST', `${path}/members/me/accept`, {})).status, 200);
    assert.equal((await ask(ann, 'DELETE', `${path}/members/${guest.id}`)).status, 200);
    assert.equal((await ask(guest, 'GET', path)).status, 404);
    // They may leave it, and then it is nobody's to give back.
    const other = await environmentOf(gateway, guest, project);
    assert.equal((await ask(ann, 'DELETE', `/v1/environments/${other}/members/${ann.id}`)).status, 200);
    assert.equal((await ask(ann, 'GET', `/v1/environments/${other}`)).status, 404);
  });

  test('who is taken out is told by whom, once a day of an environment, and what keeps their project says whose it is', async () => {
    const { eve, ann: bad } = await begin();
    const project = await projectOf(gateway, eve);
    const id = await environmentOf(gateway, eve, project);
    const path = `/v1/environments/${id}`;
    await ask(eve, 'PATCH', path, { name: 'https://evil.example' });
    await join(gateway, id, { by: eve, account: bad, role: 'owner' });
    const refusal = async () => (await ask(eve, 'DELETE', `/v1/projects/${project}`)).body.error.message;
    assert.equal(await refusal(), '1 environment stands in this project; you own 1: destroy it first');
    assert.equal((await ask(bad, 'DELETE', `${path}/members/${eve.id}`)).status, 200);
    const [{ title, body, severity }] = await told(eve, 'environment.member_removed');
    assert.deepEqual([title, severity], [`${bad.email} took you out of an environment`, 'warning']);
    assert.match(body, /it is yours no more/);
    assert.equal(
      await refusal(),
      `1 environment stands in this project; you do not own 1 of ${bad.email}: ask who has them to destroy them, or to make you an owner there`,
    );
    await join(gateway, id, { by: bad, account: eve, role: 'viewer' });
    assert.equal((await ask(bad, 'DELETE', `${path}/members/${eve.id}`)).status, 200);
    assert.equal((await told(eve, 'environment.member_removed')).length, 1);
    // Whoever leaves knows it.
    await join(gateway, id, { by: bad, account: eve, role: 'owner' });
    assert.equal((await ask(bad, 'DELETE', `${path}/members/${bad.id}`)).status, 200);
    assert.deepEqual(await told(bad, 'environment.member_removed'), []);
  });

  test('who did not agree gets no environment by a deletion, but by an operator who hands it over', async () => {
    const { eve, ann, id, path, ownerOf } = await begin();
    await join(gateway, id, { by: eve, account: ann, role: 'viewer' });
    await ask(eve, 'PATCH', `${path}/members/${ann.id}`, { role: 'owner' });
    assert.equal((await accountDeletion.refusal(gateway.kernel.sql, eve.id))?.code, 'last_owner');
    assert.equal(await accountDeletion.refusal(gateway.kernel.sql, ann.id), undefined);
    await svcOf(gateway)('accounts', 'delete', '--email', eve.email, '--yes', '--hand-over');
    assert.equal(await ownerOf(ann), ann.id);
    assert.equal((await told(ann, 'environment.handed_over')).length, 1);
  });

  test('who agreed is told that an environment is theirs when its account is deleted', async () => {
    const { eve, ann, id, ownerOf } = await begin();
    await join(gateway, id, { by: eve, account: ann, role: 'owner' });
    await markDeleted(gateway.kernel, eve.id, byCommand);
    const leaving = { accountId: eve.id, email: eve.email };
    await deleteMarked(gateway.kernel, accountDeletion.data, leaving, byCommand);
    assert.equal(await ownerOf(ann), ann.id);
    assert.equal((await told(ann, 'environment.handed_over')).length, 1);
  });
});
