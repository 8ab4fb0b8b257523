import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { join } from '../environments/environments.testing.ts';
import { type Enrolled, enrolled, openSocket, TestDaemon } from './relay.testing.ts';

const sshKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3';

describe('Linux users of members', () => {
  const t = shared(() => openTest({ gateways: 2 }));
  const call = (env: Enrolled, { key }: Pick<TestAccount, 'key'>, method: string, end: string, body?: object) =>
    http(t.gateway.url, `/v1/environments/${env.id}${end}`, { method, key, ...(body && { body }) });

  /** A machine that makes users, or does not, and somebody who is a member of its environment. */
  async function served(role: string, capabilities = ['terminal', 'users']) {
    const env = await enrolled(t.gateway, t.account);
    const member = await createAccount(t.gateway);
    await join(t.gateway, env.id, { by: t.account, account: member, role });
    const headers = { authorization: `Bearer ${t.account.key}`, 'x-svc-device': env.deviceId };
    const daemon = new TestDaemon(`${t.gateway.url}/relay/v1/environments/${env.id}/serve`, headers);
    daemon.report.daemon.capabilities = capabilities;
    const members = async (): Promise<Record<string, unknown>[]> =>
      (await call(env, t.account, 'GET', '/members')).body.members;
    const of = async ({ id }: Pick<TestAccount, 'id'>) => (await members()).find((one) => one['user_id'] === id);
    const attach = (account: TestAccount, gateway = t.gateway) =>
      openSocket(`${gateway.url}/relay/v1/environments/${env.id}/attach?kind=terminal`, {
        authorization: `Bearer ${account.key}`,
      });
    const isUsable = async () =>
      (await http(t.gateway.url, `/relay/v1/environments/${env.id}/status`, { key: t.account.key })).body.usable ===
      true;
    await until(isUsable);
    return { ...env, member, daemon, of, attach, [Symbol.asyncDispose]: () => daemon.close() };
  }

  test('a machine hears of members with their keys as it comes, of a change within seconds, and of viewers never', async () => {
    await using env = await served('developer');
    await until(() => env.daemon.users.length === 1);
    const idsOf = (at: number) => env.daemon.users[at]?.map(({ user_id: id }) => id).sort();
    assert.deepEqual(idsOf(0), [t.account.id, env.member.id].sort());
    assert.equal((await env.of(env.member))?.['provisioned_at'], null);
    assert.equal((await call(env, env.member, 'PUT', '/members/me/ssh-key', { public_key: sshKey })).status, 200);
    await until(() => env.daemon.users.length === 2);
    const told = env.daemon.users[1]?.find(({ user_id: id }) => id === env.member.id);
    assert.equal(told?.ssh_public_key, sshKey);
    assert.equal(told.linux_username, (await env.of(env.member))?.['linux_username']);
    await until(async () => (await env.of(env.member))?.['provisioned_at'] !== null);
    assert.equal((await call(env, t.account, 'PATCH', `/members/${env.member.id}`, { role: 'viewer' })).status, 200);
    await until(() => env.daemon.users.length === 3);
    assert.deepEqual(idsOf(2), [t.account.id]);
    await until(async () => (await env.of(env.member))?.['provisioned_at'] === null);
  });

  test('a terminal says whose it is once the machine has its user, through another relay too', async () => {
    await using env = await served('developer');
    const opened = async (gateway = t.gateway) => {
      const socket = await env.attach(env.member, gateway);
      socket.send(Buffer.from('q'));
      await once(socket, 'close');
      return env.daemon.requests.findLast((one) => String(one[':path']).startsWith('/terminal'))?.['x-svc-linux-user'];
    };
    assert.equal(await opened(), undefined);
    await call(env, env.member, 'PUT', '/members/me/ssh-key', { public_key: sshKey });
    await until(async () => (await env.of(env.member))?.['provisioned_at'] !== null);
    const name = (await env.of(env.member))?.['linux_username'];
    assert.equal(await opened(), name);
    assert.equal(await opened(t.second), name);
  });

  test('a machine that makes no users is not asked', async () => {
    await using env = await served('developer', ['terminal']);
    await using other = await served('developer');
    await until(() => other.daemon.users.length === 1);
    assert.ok(env.daemon.requests.every((one) => one[':path'] !== '/users'));
  });

  test('a machine whose answer has no end holds back no other one', async () => {
    await using slow = await served('developer');
    await using other = await served('developer');
    await until(() => slow.daemon.users.length === 1 && other.daemon.users.length === 1);
    slow.daemon.isEndless = true;
    const setKey = (env: typeof slow) => call(env, env.member, 'PUT', '/members/me/ssh-key', { public_key: sshKey });
    await setKey(slow);
    await until(() => slow.daemon.requests.filter((one) => one[':path'] === '/users').length === 2);
    await setKey(other);
    await until(() => other.daemon.users.length === 2, 60_000);
  });
});
