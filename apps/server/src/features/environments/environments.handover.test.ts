import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountDeletion } from '../../features.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { svcOf } from '../../testing.commands.ts';
import { environmentOf, join } from './environments.testing.ts';

test('an operator deletes who alone owns an environment: it goes to the member with the most rights who is there longest', async () => {
  await using t = await openTest();
  const svc = svcOf(t.gateway);
  const { sql } = t.gateway.kernel;
  const [owner, viewer, first, second] = await Promise.all([1, 2, 3, 4].map(() => createAccount(t.gateway)));
  assert.ok(owner && viewer && first && second);
  const id = await environmentOf(t.gateway, owner);
  const suspended = await createAccount(t.gateway);
  await join(t.gateway, id, { by: owner, account: suspended, role: 'maintainer' });
  await join(t.gateway, id, { by: owner, account: viewer, role: 'viewer' });
  await join(t.gateway, id, { by: owner, account: first, role: 'developer' });
  await join(t.gateway, id, { by: owner, account: second, role: 'developer' });
  await svc('accounts', 'suspend', '--email', suspended.email);
  const remove = (...more: string[]) => svc('accounts', 'delete', '--email', owner.email, '--yes', ...more);
  await assert.rejects(remove(), { message: /make a member its owner, or destroy it, or add --hand-over/ });
  await assert.rejects(remove('--force'), { message: /--hand-over/ });
  const done = await remove('--hand-over');
  assert.equal(done.handed_over.length, 1);
  assert.ok(done.handed_over[0].endsWith(` to ${first.email}`));
  const { environment, members } = (await http(t.gateway.url, `/v1/environments/${id}`, { key: first.key })).body;
  assert.equal(environment.ownerUserId, first.id);
  const roles = Object.fromEntries(members.map((one: { user_id: string; role: string }) => [one.user_id, one.role]));
  assert.deepEqual(roles, {
    [first.id]: 'owner',
    [second.id]: 'developer',
    [viewer.id]: 'viewer',
    [suspended.id]: 'maintainer',
  });
  const told = async ({ key }: { key: string }) =>
    (await http(t.gateway.url, '/v1/notifications?type=environment.handed_over', { key })).body.notifications[0];
  assert.deepEqual([(await told(first)).severity, (await told(viewer)).severity], ['warning', 'info']);
  assert.match((await told(viewer)).title, /has a new owner/);
  assert.match((await told(first)).title, /is yours now/);
  const [left] = await sql`select id from accounts.accounts where id = ${owner.id}`;
  assert.equal(left, undefined);
});

test('who deletes their own account is told what to do with an environment that others use', async () => {
  await using t = await openTest();
  const [owner, member] = [await createAccount(t.gateway), await createAccount(t.gateway)];
  const id = await environmentOf(t.gateway, owner);
  await join(t.gateway, id, { by: owner, account: member, role: 'viewer' });
  const refused = await accountDeletion.refusal(t.gateway.kernel.sql, owner.id);
  assert.equal(refused?.code, 'last_owner');
  assert.match(refused?.why ?? '', /has members and no other owner; make a member its owner, or destroy it$/);
});
