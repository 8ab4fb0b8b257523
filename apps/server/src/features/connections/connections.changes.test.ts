import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { environmentOf } from '../environments/environments.testing.ts';
import { letIn } from './connections.testing.ts';

const scopes = ['heartbeats', 'notifications', 'environments'];

describe('what an app changed', () => {
  const { gateway } = shared(() =>
    openTest({ settings: { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: '443,9' } }),
  );
  const ok = async (key: string, method: string, path: string, body?: object) => {
    const answer = await http(gateway.url, path, { method, key, ...(body && { body }) });
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const monitor = (key: string) => ok(key, 'POST', '/v1/heartbeats', { name: 'Backup', period_s: 86_400 });
  const ping = async (url: string) => (await http(gateway.url, new URL(url).pathname, { method: 'POST' })).status;
  const inDays = (days: number) => new Date(gateway.kernel.clock.now() + days * 86_400_000).toISOString();

  async function begin() {
    const account = await createAccount(gateway);
    const app = await letIn(gateway, account, scopes);
    return {
      account,
      app,
      changed: async () =>
        (await ok(account.key, 'GET', `/v1/connections/${app.id}`)).connection.changed.map(
          ({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`,
        ),
      disconnect: () => ok(account.key, 'DELETE', `/v1/connections/${app.id}`),
      told: async () => (await ok(account.key, 'GET', '/v1/notifications?type=connection.changes')).notifications,
    };
  }

  test('is shown, and undone at Disconnect: addresses and secrets that it saw, silences, rules; the rest is told', async () => {
    const e = await begin();
    const { key } = e.account;
    const { id } = await monitor(key);
    const hook = { url: 'https://127.0.0.1/hook', name: 'Phone' };
    const webhook = (await ok(key, 'POST', '/v1/notifications/webhooks', hook)).id;
    const before = (await ok(key, 'GET', '/v1/notifications/preferences')).rules;
    const { ping_url: seen } = await ok(e.app.key, 'POST', `/v1/heartbeats/${id}/rotate`);
    await ok(e.app.key, 'PATCH', `/v1/heartbeats/${id}`, { muted_until: inDays(300) });
    await ok(e.app.key, 'PUT', '/v1/notifications/preferences', { rules: [{ type: '*', channels: [] }] });
    const { secret } = await ok(e.app.key, 'POST', `/v1/notifications/webhooks/${webhook}/rotate-secret`);
    assert.ok(secret);
    await ok(e.app.key, 'PATCH', `/v1/notifications/webhooks/${webhook}`, { types: ['prompt.due'] });
    assert.deepEqual((await e.changed()).toSorted(), [
      'mute Backup',
      'ping_url Backup',
      'preferences ',
      'webhook_secret Phone',
      'webhook_terms Phone',
    ]);
    assert.equal(await ping(seen), 200);
    await e.disconnect();
    assert.equal(await ping(seen), 404);
    const { heartbeats } = await ok(key, 'GET', '/v1/heartbeats');
    const until = heartbeats.find((one: { id: string }) => one.id === id).muted_until;
    assert.ok(until === undefined || Date.parse(until) <= gateway.kernel.clock.now());
    assert.deepEqual((await ok(key, 'GET', '/v1/notifications/preferences')).rules, before);
    const [{ title, body }] = await e.told();
    assert.match(title, /^A disconnected app had changed/);
    assert.match(body, /^Undone or made anew: .*ping address of Backup.*\nLook at these yourself: .*webhook Phone/);
  });

  test('in an environment is told at Disconnect: its name, a secret; what its person changed since is theirs', async () => {
    const e = await begin();
    const { key } = e.account;
    const id = await environmentOf(gateway, e.account);
    const path = `/v1/environments/${id}`;
    const { slug } = (await ok(e.app.key, 'PATCH', path, { name: 'Taken' })).environment;
    await ok(e.app.key, 'PUT', `${path}/secrets/GIT_TOKEN`, { value: 'x' });
    assert.deepEqual((await e.changed()).toSorted(), [
      `environment_name ${slug}`,
      `environment_secret ${slug}: GIT_TOKEN`,
    ]);
    await ok(key, 'PUT', `${path}/secrets/GIT_TOKEN`, { value: 'y' });
    await e.disconnect();
    const [{ body }] = await e.told();
    assert.equal(body, `Look at these yourself: name of the environment ${slug}`);
  });

  test('by the person, or of a silence that was there before, is left as it was', async () => {
    const e = await begin();
    const { key } = e.account;
    const { id } = await monitor(key);
    const path = `/v1/heartbeats/${id}`;
    const own = inDays(2);
    await ok(key, 'PATCH', path, { muted_until: own });
    await ok(e.app.key, 'PATCH', path, { muted_until: inDays(300) });
    await e.disconnect();
    const until = async () => (await ok(key, 'GET', path)).muted_until;
    assert.equal(Date.parse(await until()), Date.parse(own));
    const quiet = await begin();
    await quiet.disconnect();
    assert.deepEqual(await quiet.told(), []);
  });

  test('of what is gone is forgotten, told at Disconnect no more, and counts for nothing', async () => {
    const e = await begin();
    const { key } = e.account;
    const { sql } = gateway.kernel;
    const hook = { url: 'https://127.0.0.1/hook', name: 'Phone' };
    const webhook = (await ok(key, 'POST', '/v1/notifications/webhooks', hook)).id;
    await ok(e.app.key, 'PATCH', `/v1/notifications/webhooks/${webhook}`, { types: ['prompt.due'] });
    const [one, other, third] = [await monitor(key), await monitor(key), await monitor(key)];
    for (const { id } of [one, other, third])
      await ok(e.app.key, 'PATCH', `/v1/heartbeats/${id}`, { paused: true, muted_until: inDays(1) });
    await ok(key, 'DELETE', `/v1/notifications/webhooks/${webhook}`);
    await ok(key, 'DELETE', `/v1/heartbeats/${one.id}`);
    assert.deepEqual((await e.changed()).toSorted(), ['mute Backup', 'mute Backup', 'pause Backup', 'pause Backup']);
    // As an account's deletion or a restore leaves it.
    await sql`delete from heartbeats.monitors where id = ${other.id}`;
    await gateway.app.jobs.find(({ name }) => name === 'connections.forget')?.run(gateway.kernel);
    assert.deepEqual((await e.changed()).toSorted(), ['mute Backup', 'pause Backup']);
    await sql`delete from heartbeats.monitors where id = ${third.id}`;
    await e.disconnect();
    assert.deepEqual(await e.told(), []);
  });

  test('that is over by itself is not told as undone', async () => {
    const e = await begin();
    const { key } = e.account;
    const { id } = await monitor(key);
    await ok(e.app.key, 'PATCH', `/v1/heartbeats/${id}`, { muted_until: inDays(1) });
    const { rules } = await ok(key, 'GET', '/v1/notifications/preferences');
    await ok(e.app.key, 'PUT', '/v1/notifications/preferences', { rules });
    await gateway.kernel.sql`
      update heartbeats.monitors set muted_until = now() - interval '1 minute' where id = ${id}`;
    await e.disconnect();
    assert.deepEqual(await e.told(), []);
  });

  test('of when a monitor is expected is told, and an address that it was shown when it made one is made anew', async () => {
    const e = await begin();
    const { id } = await monitor(e.account.key);
    await ok(e.app.key, 'PATCH', `/v1/heartbeats/${id}`, { period_s: 2_592_000 });
    const own = await ok(e.app.key, 'POST', '/v1/heartbeats', { name: 'Made', period_s: 86_400 });
    assert.deepEqual((await e.changed()).toSorted(), ['monitor_times Backup', 'ping_url Made']);
    assert.equal(await ping(own.ping_url), 200);
    await e.disconnect();
    assert.equal(await ping(own.ping_url), 404);
    const [{ body }] = await e.told();
    assert.match(
      body,
      /^Undone or made anew: ping address of Made.*\nLook at these yourself: when Backup is expected$/,
    );
  });
});
