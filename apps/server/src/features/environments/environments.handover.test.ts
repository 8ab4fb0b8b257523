import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomUUID } from 'node:crypto';
import { accountDeletion } from '../../features.ts';
import { byCommand } from '../../kernel/records/audit.ts';
import { markDeleted } from '../accounts/index.ts';
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
  await assert.rejects(remove(), {
    message: /destroy it, or add --hand-over: its member with the highest role, of several who is there longest/,
  });
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

test('an environment that nobody may take over, a viewer or who is suspended, is not destroyed but refused by name', async () => {
  await using t = await openTest();
  const svc = svcOf(t.gateway);
  const [owner, viewer, developer] = await Promise.all([1, 2, 3].map(() => createAccount(t.gateway)));
  assert.ok(owner && viewer && developer);
  const id = await environmentOf(t.gateway, owner);
  await join(t.gateway, id, { by: owner, account: viewer, role: 'viewer' });
  const remove = () => svc('accounts', 'delete', '--email', owner.email, '--yes', '--hand-over');
  const refusal = new RegExp(`nobody can take over the environment Workstation \\(${id}\\).*resume a member`);
  await assert.rejects(remove(), { message: refusal });
  await join(t.gateway, id, { by: owner, account: developer, role: 'developer' });
  await svc('accounts', 'suspend', '--email', developer.email);
  await assert.rejects(remove(), { message: refusal });
  await svc('accounts', 'resume', '--email', developer.email);
  assert.ok((await remove()).handed_over[0].endsWith(` to ${developer.email}`));
});

test('who would get an environment is named before the question', async () => {
  await using t = await openTest();
  const svc = svcOf(t.gateway);
  const [owner, heir] = [await createAccount(t.gateway), await createAccount(t.gateway)];
  const id = await environmentOf(t.gateway, owner);
  await join(t.gateway, id, { by: owner, account: heir, role: 'developer' });
  const { slug } = (await http(t.gateway.url, `/v1/environments/${id}`, { key: heir.key })).body.environment;
  await assert.rejects(svc('accounts', 'delete', '--id', owner.id, '--hand-over'), {
    message: `goes over: ${slug} to ${heir.email}\nthere is no terminal to ask on; add --yes to delete it`,
  });
});

test('an heir is not deleted with what they got after the first look', async () => {
  await using t = await openTest();
  const [owner, heir, member] = await Promise.all([1, 2, 3].map(() => createAccount(t.gateway)));
  assert.ok(owner && heir && member);
  const id = await environmentOf(t.gateway, owner);
  await join(t.gateway, id, { by: owner, account: heir, role: 'maintainer' });
  await join(t.gateway, id, { by: owner, account: member, role: 'developer' });
  let looks = 0;
  const svc = svcOf(t.gateway, {
    ...accountDeletion,
    async refusal(db, accountId, handsOver) {
      const refused = await accountDeletion.refusal(db, accountId, handsOver);
      looks += 1;
      if (looks === 1) await svcOf(t.gateway)('accounts', 'delete', '--email', owner.email, '--yes', '--hand-over');
      return refused;
    },
  });
  await assert.rejects(svc('accounts', 'delete', '--email', heir.email, '--yes'), { message: /no other owner/ });
  const { environment } = (await http(t.gateway.url, `/v1/environments/${id}`, { key: member.key })).body;
  assert.equal(environment.ownerUserId, heir.id);
});

test('of two owners who are deleted at once the second is refused while others use the environment', async () => {
  await using t = await openTest();
  const [first, second, member] = await Promise.all([1, 2, 3].map(() => createAccount(t.gateway)));
  assert.ok(first && second && member);
  const id = await environmentOf(t.gateway, first);
  await join(t.gateway, id, { by: first, account: second, role: 'owner' });
  await join(t.gateway, id, { by: first, account: member, role: 'developer' });
  await markDeleted(t.gateway.kernel, first.id, byCommand);
  const refused = await accountDeletion.refusal(t.gateway.kernel.sql, second.id);
  assert.match(refused?.why ?? '', new RegExp(id));
});

test('an heir hears that a machine which served with a key of who is deleted must be enrolled again', async () => {
  await using t = await openTest();
  const [owner, heir] = [await createAccount(t.gateway), await createAccount(t.gateway)];
  const [theirs, another] = [await environmentOf(t.gateway, owner), await environmentOf(t.gateway, owner)];
  for (const [id, by] of [
    [theirs, owner],
    [another, heir],
  ] as const) {
    await join(t.gateway, id, { by: owner, account: heir, role: 'maintainer' });
    const minted = await http(t.gateway.url, `/v1/environments/${id}/enroll-token`, { method: 'POST', key: by.key });
    const { token } = minted.body;
    const device = randomUUID();
    await http(t.gateway.url, '/v1/keys', { key: by.key, headers: { 'x-svc-device': device } });
    const body = { token, device_id: device, daemon_version: '0.1.0', os: 'linux', arch: 'x64' };
    assert.equal((await http(t.gateway.url, '/v1/environments/enroll', { method: 'POST', body })).status, 200);
  }
  await svcOf(t.gateway)('accounts', 'delete', '--email', owner.email, '--yes', '--hand-over');
  const path = '/v1/notifications?type=environment.handed_over';
  const { notifications } = (await http(t.gateway.url, path, { key: heir.key })).body;
  const told: { type: string; data: { environment_id: string }; body: string }[] = notifications;
  const saysSo = Object.fromEntries(
    told
      .filter(({ type }) => type === 'environment.handed_over')
      .map(({ data, body }) => [data.environment_id, /enrol the machine again/.test(body)]),
  );
  assert.deepEqual(saysSo, { [theirs]: true, [another]: false });
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
