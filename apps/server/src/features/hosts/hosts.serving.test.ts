import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { type Scope, scopeNames } from '@svc/contract';
import { shared } from '../../testing.shared.ts';
import { clientOf, http, openHost, openTest } from '../../testing.ts';
import { issueKey } from '../keys/index.ts';

describe('serving as a host', () => {
  const { gateway, second, account } = shared(() => openTest({ gateways: 2 }));

  /** A key of the account, as `openHost` takes it. */
  async function keyWith(...scopes: Scope[]) {
    const { kernel } = gateway;
    const { text, id } = await issueKey(kernel, kernel.sql, { accountId: account.id, name: 'k', scopes });
    return { ...account, key: text, keyId: id };
  }

  /** Status of a call as a device. */
  const ask = async (key: string, method: string, path: string, device: string, body?: unknown, at = gateway) => {
    const headers = { 'x-svc-device': device, authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${at.url}${path}`, request);
    await answer.body?.cancel();
    return answer.status;
  };
  /** The calls of a host. Each of them changes nothing, or nothing that this account has. */
  const serving = (key: string, device: string, at = gateway) => {
    const run = `/v1/schedule-runs/${randomUUID()}`;
    const now = new Date().toISOString();
    const times = { scheduled_for: now, started_at: now, finished_at: now };
    return Promise.all([
      ask(key, 'HEAD', '/v1/hosts/stream', device, undefined, at),
      ask(key, 'POST', `/v1/hosts/exec/${randomUUID()}/result`, device, { ok: true }, at),
      ask(key, 'POST', '/v1/scheduler/claim', device, {}, at),
      ask(key, 'POST', `${run}/heartbeat`, device, { attempt: 1 }, at),
      ask(key, 'POST', `${run}/result`, device, { attempt: 1, ok: true }, at),
      ask(key, 'POST', '/v1/scheduler/native-runs', device, { schedule_id: randomUUID(), ...times, ok: true }, at),
    ]);
  };
  const refused = [403, 403, 403, 403, 403, 403];

  test('only a serve scope, or a key that may do everything, makes a host', async () => {
    for (const scope of scopeNames.filter((name) => name !== '*' && !name.endsWith(':serve'))) {
      const { key } = await keyWith(scope);
      assert.deepEqual(await serving(key, randomUUID()), refused, scope);
    }
    const { key } = await keyWith('hosts:serve', 'scheduler:serve');
    assert.deepEqual(await serving(key, randomUUID()), [200, 404, 200, 404, 404, 404]);
    assert.deepEqual(await serving(account.key, randomUUID()), [200, 404, 200, 404, 404, 404]);
  });

  test('a key that serves commands no host, lists no runs, makes no keys and changes no schedule', async () => {
    const { key } = await keyWith('hosts:serve', 'scheduler:serve');
    const device = randomUUID();
    for (const [method, path] of [
      ['POST', `/v1/hosts/${device}/exec`],
      ['GET', '/v1/hosts'],
      ['GET', '/v1/keys'],
      ['POST', '/v1/keys'],
      ['GET', '/v1/schedule-runs'],
      ['POST', '/v1/schedules'],
      ['PATCH', `/v1/scheduler/hosts/${device}`],
      ['POST', '/v1/triggers/x/fire'],
    ] as const) {
      assert.equal(await ask(key, method, path, device, method === 'GET' ? undefined : { op: 'info' }), 403, path);
    }
    const { key: commands } = await keyWith('hosts:exec');
    assert.equal(await ask(commands, 'POST', `/v1/hosts/${device}/exec`, randomUUID(), { op: 'info' }), 404);
    assert.equal(await ask(commands, 'GET', '/v1/hosts', device), 200);
  });

  test('another key that serves neither ends the stream of a device, nor gets its operations, nor answers for it', async () => {
    const [mine, other] = [await keyWith('hosts:serve'), await keyWith('hosts:serve', 'scheduler:serve')];
    const host = await openHost(gateway, mine);
    await assert.rejects(openHost(gateway, other, host.deviceId), { status: 403, message: /svc host enroll/ });
    await assert.rejects(openHost(second, other, host.deviceId), { status: 403 });
    const asked = clientOf(gateway, account.key).hosts.exec({
      params: { device_id: host.deviceId },
      body: { op: 'info', timeout_ms: 60_000 },
    });
    const { data } = await host.next();
    const params = { req_id: String(data['req_id']) };
    for (const at of [gateway, second]) {
      const forged = clientOf(at, other.key, host.deviceId).hosts.result({
        params,
        body: { ok: true, result: 'forged' },
      });
      await assert.rejects(forged, { status: 403 });
    }
    await clientOf(second, mine.key, host.deviceId).hosts.result({ params, body: { ok: true, result: 'real' } });
    assert.equal((await asked).result, 'real');
    assert.deepEqual((await serving(other.key, host.deviceId)).slice(2), refused.slice(2));
    host.leave();
  });

  test('a key that may only serve is one device, and becomes no other that nobody serves as, all at once or later', async () => {
    const mine = await keyWith('hosts:serve', 'scheduler:serve');
    const host = await openHost(gateway, mine);
    await assert.rejects(openHost(second, mine, randomUUID()), { status: 403, message: /serves as another device/ });
    assert.equal(await ask(mine.key, 'POST', '/v1/scheduler/claim', randomUUID(), {}), 403);
    const other = await keyWith('scheduler:serve');
    const claims = Array.from({ length: 8 }, () => ask(other.key, 'POST', '/v1/scheduler/claim', randomUUID(), {}));
    assert.equal((await Promise.all(claims)).filter((status) => status === 200).length, 1);
    host.leave();
  });

  test('an owner takes a device over with a key of its own, from then on the earlier key is refused', async () => {
    const mine = await keyWith('hosts:serve');
    const before = await openHost(gateway, mine);
    const after = await openHost(second, account, before.deviceId);
    await before.ended;
    await assert.rejects(openHost(gateway, mine, before.deviceId), { status: 403 });
    after.leave();
  });

  test('of an owner’s calls only those that begin to serve take a device over', async () => {
    const mine = await keyWith('hosts:serve', 'scheduler:serve');
    const device = randomUUID();
    assert.equal(await ask(mine.key, 'POST', '/v1/scheduler/claim', device, {}), 200);
    const run = `/v1/schedule-runs/${randomUUID()}`;
    assert.equal(await ask(account.key, 'POST', `${run}/heartbeat`, device, { attempt: 1 }), 404);
    assert.equal(await ask(mine.key, 'POST', '/v1/scheduler/claim', device, {}), 200);
  });

  test('a device whose key was revoked or has expired is free for the next key that serves', async () => {
    const { sql } = gateway.kernel;
    for (const end of [
      (id: string) => http(gateway.url, `/v1/keys/${id}`, { method: 'DELETE', key: account.key }),
      (id: string) => sql`update keys.keys set expires_at = now() where id = ${id}`,
    ]) {
      const [mine, next] = [await keyWith('scheduler:serve'), await keyWith('scheduler:serve')];
      const device = randomUUID();
      const claim = (key: string) => ask(key, 'POST', '/v1/scheduler/claim', device, {});
      assert.deepEqual([await claim(mine.key), await claim(next.key)], [200, 403]);
      await end(mine.keyId);
      assert.equal(await claim(next.key), 200);
    }
  });

  test('a device named in the body of a claim alone is bound as well', async () => {
    const [mine, other] = [await keyWith('scheduler:serve'), await keyWith('scheduler:serve')];
    const claim = async (key: string, device_id: string) =>
      (await http(gateway.url, '/v1/scheduler/claim', { key, body: { device_id } })).status;
    const device = randomUUID();
    assert.deepEqual([await claim(mine.key, device), await claim(other.key, device)], [200, 403]);
  });

  test('many keys that serve as a new device at once: one of them gets it', async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => keyWith('scheduler:serve')));
    const device = randomUUID();
    const statuses = await Promise.all(
      keys.map(({ key }, at) => ask(key, 'POST', '/v1/scheduler/claim', device, {}, at % 2 ? gateway : second)),
    );
    assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses));
    assert.equal(statuses.filter((status) => status === 403).length, 7, String(statuses));
  });

  test('a host sees the schedules that may come to it, and approves for itself alone', async () => {
    const [mine, other] = [await keyWith('scheduler:serve'), await keyWith('scheduler:serve')];
    const [device, elsewhere] = [randomUUID(), randomUUID()];
    const owner = clientOf(gateway, account.key);
    const create = (name: string, target: object) =>
      owner.schedules.create({
        body: {
          name,
          kind: 'shell',
          spec: { command: 'true' },
          trigger: { type: 'event', trigger_id: 'x' },
          target: target as never,
        },
      });
    const own = await create('own', { type: 'host', device_id: device });
    await create('other', { type: 'host', device_id: elsewhere });
    await create('any', { type: 'any' });
    await create('cloud', { type: 'cloud' });
    await create('tags', { type: 'tags', tags: ['linux'] });
    const client = clientOf(gateway, mine.key, device);
    const names = async () => (await client.schedules.list()).schedules.map(({ name }) => name).sort();
    assert.deepEqual(await names(), ['any', 'own', 'tags']);
    const approval = { params: { id: own.id }, body: { command_hash: own.command_hash as string } };
    assert.equal((await client.schedules.approveCommand(approval)).approved, true);
    const posing = clientOf(gateway, other.key, device);
    await assert.rejects(posing.schedules.approveCommand(approval), { status: 403 });
    await assert.rejects(posing.schedules.revokeCommand({ params: { id: own.id } }), { status: 403 });
    await assert.rejects(posing.schedules.list(), { status: 403 });
    assert.equal((await owner.schedules.list()).schedules.length, 5);
  });
});
