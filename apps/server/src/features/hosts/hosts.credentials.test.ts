import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, type HttpAnswer, http, openHost, openTest, type TestAccount } from '../../testing.ts';

describe('hosts: no key becomes another host', () => {
  const { gateway } = shared(() => openTest());
  const by = (key: string, method: string, path: string, body?: object): Promise<HttpAnswer> =>
    http(gateway.url, path, { method, key, ...(body && { body }) });
  const keyOf = async ({ key }: TestAccount, terms: object): Promise<{ id: string; key: string }> =>
    (await by(key, 'POST', '/v1/keys', terms)).body;
  const serving = { scopes: ['hosts', 'hosts:serve', 'scheduler:serve', 'sessions:serve', 'devices'] };
  /** Codes are made by a key that may give them to machines, and is not the owner's. */
  const inviting = { scopes: [...serving.scopes, 'keys'] };
  const redeem = (code: string, id: string) =>
    http(gateway.url, '/v1/hosts/invites/redeem', { body: { code, device: { id, name: 'x' } } });

  test('a device that a key serves is deleted by that key or the owner’s alone', async () => {
    const account = await createAccount(gateway);
    const [one, other] = [await keyOf(account, serving), await keyOf(account, serving)];
    const device = randomUUID();
    const host = await openHost(gateway, { ...account, key: one.key }, device);
    const path = `/v1/devices/${device}`;
    const refused = await by(other.key, 'DELETE', path);
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
    assert.equal((await by(account.key, 'GET', '/v1/hosts')).body.hosts[0]?.device_id, device);
    assert.equal((await by(one.key, 'DELETE', path)).status, 200);
    assert.equal((await by(other.key, 'DELETE', path)).status, 404);
    host.leave();
    await openHost(gateway, { ...account, key: one.key }, device);
    assert.equal((await by(account.key, 'DELETE', path)).status, 200);
    const third = randomUUID();
    await openHost(gateway, { ...account, key: one.key }, third);
    await by(account.key, 'DELETE', `/v1/keys/${one.id}`);
    assert.equal((await by(other.key, 'DELETE', `/v1/devices/${third}`)).status, 200);
  });

  test('a code takes over no device but the one that an owner named in it', async () => {
    const account = await createAccount(gateway);
    const [one, inviter] = [await keyOf(account, serving), await keyOf(account, inviting)];
    const device = randomUUID();
    await openHost(gateway, { ...account, key: one.key }, device);
    const invites = '/v1/hosts/invites';
    for (const key of [inviter.key, account.key]) {
      const { code } = (await by(key, 'POST', invites, {})).body;
      const taken = await redeem(code, device);
      assert.deepEqual([taken.status, taken.body.error.code], [403, 'forbidden']);
      // The refused attempt did not use the code up.
      assert.equal((await redeem(code, randomUUID())).status, 201);
    }
    assert.equal((await by(inviter.key, 'POST', invites, { device_id: device })).status, 403);
    const { code } = (await by(account.key, 'POST', invites, { device_id: device })).body;
    assert.equal((await redeem(code, randomUUID())).status, 403);
    const made = await redeem(code, device);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const serve = (key: string) =>
      http(gateway.url, '/v1/scheduler/claim', { key, body: {}, headers: { 'x-svc-device': device } });
    assert.deepEqual([(await serve(one.key)).status, (await serve(made.body.key)).status], [403, 200]);
  });

  test('the key of a code has the end, models and cap that its maker has when the code is used', async () => {
    const account = await createAccount(gateway);
    const end = new Date(Date.now() + 60_000).toISOString();
    const maker = await keyOf(account, { ...inviting, expires_at: end, models: ['svc-fast'] });
    const { code } = (await by(maker.key, 'POST', '/v1/hosts/invites', {})).body;
    await by(account.key, 'PATCH', `/v1/keys/${maker.id}`, { spend_cap_micro_usd: 5 });
    const { key } = (await redeem(code, randomUUID())).body;
    const { keys } = (await by(account.key, 'GET', '/v1/keys')).body;
    const made = keys.find(({ last_four }: { last_four: string }) => last_four === key.slice(-4));
    assert.deepEqual([made.expires_at, made.models, made.spend_cap_micro_usd], [end, ['svc-fast'], 5]);
    assert.equal(made.tool_level, 'l0');
  });

  test('a code is worth nothing once its maker may make none any more', async () => {
    const account = await createAccount(gateway);
    const maker = await keyOf(account, inviting);
    const { code } = (await by(maker.key, 'POST', '/v1/hosts/invites', {})).body;
    await by(account.key, 'PATCH', `/v1/keys/${maker.id}`, { scopes: ['usage'] });
    assert.equal((await redeem(code, randomUUID())).status, 403);
    await by(account.key, 'PATCH', `/v1/keys/${maker.id}`, { scopes: inviting.scopes });
    assert.equal((await redeem(code, randomUUID())).status, 201);
  });
});
