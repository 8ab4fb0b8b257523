import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { environmentOf, join } from './environments.testing.ts';

const clock = testClock(Date.parse('2026-11-02T09:00:00Z'));

describe('enrolment of environments', () => {
  const { gateway, account } = shared(() => openTest({ clock }));
  const ask = async ({ key }: Pick<TestAccount, 'key'>, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });
  const mint = async (id: string, by: Pick<TestAccount, 'key'> = account): Promise<string> => {
    const { status, body } = await ask(by, 'POST', `/v1/environments/${id}/enroll-token`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.token;
  };
  const enroll = (token: unknown, device: string = randomUUID()) =>
    http(gateway.url, '/v1/environments/enroll', {
      method: 'POST',
      body: { token, device_id: device, daemon_version: '0.1.0', os: 'linux', arch: 'x64' },
    });
  const stateOf = async (id: string) => (await ask(account, 'GET', `/v1/environments/${id}`)).body.environment;

  test('a token has the form of the document, is stored as a hash alone, and enrols a machine once', async () => {
    const id = await environmentOf(gateway, account);
    const answer = (await ask(account, 'POST', `/v1/environments/${id}/enroll-token`)).body;
    assert.match(answer.token, /^svc_env_.{32}$/);
    assert.deepEqual([answer.environment_id, answer.expires_at], [id, '2026-11-02T09:30:00.000Z']);
    const rows = await gateway.kernel.sql`select t::text as text from environments.tokens t`;
    assert.ok(!JSON.stringify(rows).includes(answer.token.slice(8)));
    const device = randomUUID();
    const enrolled = await enroll(answer.token, device);
    const { relayUrl } = gateway.kernel.config;
    assert.deepEqual([enrolled.status, enrolled.body], [200, { environment_id: id, relay_url: relayUrl }]);
    const { state, deviceId } = await stateOf(id);
    assert.deepEqual([state, deviceId], ['enrolling', device]);
    const { events } = (await ask(account, 'GET', `/v1/environments/${id}`)).body;
    assert.deepEqual([events[0].kind, events[0].actorKind], ['state:pending->enrolling', 'daemon']);
    // Its answer may have been lost on the way.
    assert.deepEqual((await enroll(answer.token, device)).body, enrolled.body);
    const other = await enroll(answer.token);
    assert.deepEqual([other.status, other.body.error.code], [401, 'invalid_api_key']);
  });

  test('of machines that race for a token one wins', async () => {
    const id = await environmentOf(gateway, account);
    const token = await mint(id);
    const devices = Array.from({ length: 8 }, () => randomUUID());
    const answers = await Promise.all(devices.map((device) => enroll(token, device)));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, ...Array.from({ length: 7 }, () => 401)],
    );
    const winner = devices[answers.findIndex(({ status }) => status === 200)];
    assert.equal((await stateOf(id)).deviceId, winner);
  });

  test('one that was replaced, is 30 minutes old, or was never made is a 401', async () => {
    const id = await environmentOf(gateway, account);
    const first = await mint(id);
    const second = await mint(id);
    const code = async (token: string) => (await enroll(token)).body.error?.code;
    assert.equal(await code(first), 'invalid_api_key');
    assert.equal(await code(`svc_env_${'x'.repeat(32)}`), 'invalid_api_key');
    clock.advance(30 * 60_000);
    assert.equal(await code(second), 'invalid_api_key');
    assert.equal((await stateOf(id)).state, 'pending');
    for (const token of [null, '', 7, {}, 'x'.repeat(201)]) assert.equal((await enroll(token)).status, 400);
  });

  test('one is worth nothing once who made it, or the key that made it, may not make one', async () => {
    const id = await environmentOf(gateway, account);
    const member = await createAccount(gateway);
    const path = `/v1/environments/${id}/members`;
    await join(gateway, id, { by: account, account: member, role: 'maintainer' });
    const lowered = await mint(id, member);
    await ask(account, 'PATCH', `${path}/${member.id}`, { role: 'developer' });
    assert.equal((await enroll(lowered)).status, 401);
    const { key, id: keyId } = (await ask(account, 'POST', '/v1/keys', { name: 'k', scopes: ['environments'] })).body;
    const revoked = await mint(id, { key });
    await ask(account, 'DELETE', `/v1/keys/${keyId}`);
    assert.equal((await enroll(revoked)).status, 401);
    assert.equal((await stateOf(id)).state, 'pending');
  });

  test('a destroyed environment takes no machine, one that is put aside does; a machine at a provider is no one’s own', async () => {
    const id = await environmentOf(gateway, account);
    const token = await mint(id);
    await ask(account, 'POST', `/v1/environments/${id}/archive`);
    assert.equal((await enroll(token)).status, 200);
    assert.equal((await stateOf(id)).state, 'enrolling');
    const again = await mint(id);
    await ask(account, 'POST', `/v1/environments/${id}/destroy`);
    assert.equal((await enroll(again)).status, 401);
    const refused = await ask(account, 'POST', `/v1/environments/${id}/enroll-token`);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'not_enrollable']);
    const managed = await environmentOf(gateway, account);
    await gateway.kernel.sql`update environments.environments set provider = 'managed_b' where id = ${managed}`;
    const notOwn = await ask(account, 'POST', `/v1/environments/${managed}/enroll-token`);
    assert.deepEqual([notOwn.status, notOwn.body.error.code], [409, 'not_byo']);
  });

  test('whoever guesses tokens is told to wait after a hundred in a minute, and asks the database no more', async () => {
    const statuses = [];
    for (let n = 0; n < 120; n += 1) statuses.push((await enroll(`svc_env_${String(n).padStart(32, 'x')}`)).status);
    assert.equal(statuses.filter((status) => status === 401).length <= 100, true);
    assert.equal(statuses.at(-1), 429);
    const id = await environmentOf(gateway, account);
    assert.equal((await enroll(await mint(id))).status, 429);
    clock.advance(60_000);
    assert.equal((await enroll(await mint(id))).status, 200);
  });
});
