import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { svcOf } from '../../testing.commands.ts';
import { createAccount, http, until } from '../../testing.ts';
import { serveAs } from '../devices/index.ts';
import { join } from '../environments/environments.testing.ts';
import { checkDaemon } from '../environments/index.ts';
import { type CloudTest, openClouds, report } from './clouds.places.testing.ts';

/** Makes an environment whose machine runs and serves with its key, and another member; answers them. */
async function running(c: CloudTest, role: string) {
  const { account, gateway } = c.t;
  const { sql } = gateway.kernel;
  const heir = await createAccount(gateway);
  const [id, deviceId] = [await c.make(), randomUUID()];
  await join(gateway, id, { by: account, account: heir, role });
  await c.turn();
  c.fake.settle();
  await c.turn(10_000);
  const key: string = (await c.enrol(id, deviceId)).body.api_key;
  // Its first call registers the device, and binds it to the key.
  const call = () => http(gateway.url, '/v1/keys', { key, headers: { 'x-svc-device': deviceId } });
  assert.equal((await call()).status, 403);
  const [row] = await sql<
    { key_id: string }[]
  >`select key_id from environments.machine_keys where environment_id = ${id}`;
  const keyId = row?.key_id ?? '';
  const actor = { accountId: account.id, keyId, scopes: ['environments:serve'], kind: 'key' as const };
  await serveAs(sql, { actor, deviceId });
  await report(c.t, id);
  return { id, heir, deviceId, keyId, call };
}

/** Deletes the account of the test, while the clock is turned. */
async function remove(c: CloudTest, ...more: string[]): Promise<void> {
  let isOver = false;
  const done = svcOf(c.t.gateway)('accounts', 'delete', '--email', c.t.account.email, '--yes', ...more).finally(() => {
    isOver = true;
  });
  const turned = until(() => {
    c.clock.advance(1_000);
    return isOver;
  });
  await Promise.all([done, turned]);
}

/** Fails unless the machine serves with the key that it has, which is the heir's now. */
async function checkServes(c: CloudTest, { id, heir, deviceId, keyId, call }: Awaited<ReturnType<typeof running>>) {
  const { sql } = c.t.gateway.kernel;
  assert.equal((await call()).status, 403, 'its key is known, and may serve alone');
  await checkDaemon(sql, { accountId: heir.id, environmentId: id, deviceId });
  const { keys } = (await http(c.t.gateway.url, '/v1/keys', { key: heir.key })).body;
  assert.ok(keys.some((one: { id: string; status: string }) => one.id === keyId && one.status === 'active'));
  const devices = await sql`select account_id, served_by, sole_key from devices.devices where id = ${deviceId}`;
  assert.deepEqual([...devices], [{ account_id: heir.id, served_by: keyId, sole_key: keyId }]);
}

describe('machines of owners who are deleted', () => {
  test('one that was handed over serves its heir with the key that it has, once they start it', async () => {
    await using c = await openClouds();
    const made = await running(c, 'maintainer');
    await remove(c, '--hand-over');
    await c.turn();
    c.fake.settle();
    await c.turn(10_000);
    const there = async () =>
      (await c.ask('GET', `/v1/environments/${made.id}`, undefined, made.heir)).body.environment;
    assert.equal((await there()).state, 'stopped');
    const started = await c.ask('POST', `/v1/environments/${made.id}/start`, undefined, made.heir);
    assert.equal(started.status, 200, JSON.stringify(started.body));
    await checkServes(c, made);
  });

  test('one with another owner goes on to serve with the key that it has', async () => {
    await using c = await openClouds();
    const made = await running(c, 'owner');
    await remove(c);
    await checkServes(c, made);
  });

  test('one that is being made, started or stopped is not handed over', async () => {
    await using c = await openClouds();
    const id = await c.make();
    const heir = await createAccount(c.t.gateway);
    await join(c.t.gateway, id, { by: c.t.account, account: heir, role: 'maintainer' });
    for (const state of ['creating', 'enrolling', 'starting', 'stopping']) {
      await c.t.gateway.kernel.sql`update environments.environments set state = ${state} where id = ${id}`;
      const message = new RegExp(`is ${state}; wait until it runs or has stopped, or destroy it first$`);
      await assert.rejects(remove(c, '--hand-over'), { message });
    }
  });
});
