import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAccount, http, until } from '../../testing.ts';
import { type CloudTest, openClouds, report } from './clouds.places.testing.ts';

const minute = 60_000;

/** A schedule for the machine of a project, which somebody runs by hand; its run waits. */
async function waiting(c: CloudTest, project: unknown, fields: object = {}): Promise<{ id: string; hash: string }> {
  const { status, body } = await c.ask('POST', '/v1/schedules', {
    name: 'job',
    kind: 'http',
    spec: { url: 'https://example.com/' },
    trigger: { type: 'event', trigger_id: 'never' },
    target: { type: 'cloud_vm', project_id: project },
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  const ran = await c.ask('POST', `/v1/schedules/${body.id}/run`);
  assert.ok(ran.status < 300, JSON.stringify(ran.body));
  return { id: body.id, hash: body.command_hash };
}

const waitingFor = async (c: CloudTest): Promise<string | undefined> =>
  (await c.ask('GET', '/v1/schedule-runs')).body.runs[0].waiting_for;

/** A claim of a device by a key. */
const claim = (c: CloudTest, key: string, device: string) =>
  http(c.t.gateway.url, '/v1/scheduler/claim', {
    key,
    body: { wait_s: 0 },
    headers: { 'x-svc-device': device },
  });

/** A running environment; its machine's device and key. */
async function machine(c: CloudTest, fields: object = {}) {
  const id = await c.make(fields);
  await c.turn();
  c.fake.settle();
  await c.turn(10_000);
  const device = crypto.randomUUID();
  const { api_key: key } = (await c.enrol(id, device)).body;
  await report(c.t, id);
  return { id, device, key: String(key), project: (await c.see(id))['projectId'] };
}

/** Stops an environment until its provider says so. */
async function stop(c: CloudTest, id: string): Promise<void> {
  await c.act(id, 'stop');
  await c.turn();
  c.fake.settle();
  await c.turn(10_000);
  assert.equal((await c.see(id))['state'], 'stopped');
}

describe('runs on the machine of an environment', () => {
  test('the machine of the project takes them with the key that it was given; no other one does', async () => {
    await using c = await openClouds();
    const [own, elsewhere] = [await machine(c), await machine(c)];
    await waiting(c, own.project);
    assert.equal(await waitingFor(c), 'no_host');
    const stranger = await createAccount(c.t.gateway);
    for (const [key, device] of [
      [c.t.account.key, crypto.randomUUID()],
      [elsewhere.key, elsewhere.device],
      [stranger.key, own.device],
    ] as const)
      assert.equal((await claim(c, key, device)).body.run, null);
    const taken = await claim(c, own.key, own.device);
    assert.equal(taken.body.run.name, 'job', JSON.stringify(taken.body));
  });

  test('one that stands still is started for them, the one that was used last, and says that it is on its way', async () => {
    await using c = await openClouds();
    const older = await machine(c);
    const own = await machine(c, { project: older.project });
    await stop(c, older.id);
    await stop(c, own.id);
    await c.t.gateway.kernel.sql`
      update environments.environments set last_activity_at = last_activity_at - interval '1 hour' where id = ${older.id}`;
    await waiting(c, own.project);
    assert.equal(await waitingFor(c), 'no_host');
    await c.turn(6_000);
    await until(async () => (await c.see(own.id))['state'] === 'starting');
    assert.equal((await c.see(older.id))['state'], 'stopped');
    assert.equal(await waitingFor(c), 'starting');
    await c.turn();
    c.fake.settle();
    await c.turn(10_000);
    await report(c.t, own.id);
    assert.equal((await claim(c, own.key, own.device)).body.run.name, 'job');
    // None is started while one runs.
    await waiting(c, own.project);
    await c.turn(minute);
    assert.equal((await c.see(older.id))['state'], 'stopped');
  });

  test('it stays as it is without an hour of balance, and for a command that is not approved for it', async () => {
    await using c = await openClouds({ settings: { SVC_BILLING: 'on' } });
    const { sql } = c.t.gateway.kernel;
    const credit = (amount: number) => sql`
      insert into wallet.ledger (account_id, amount_micro_eur, source_key, note)
      values (${c.t.account.id}, ${amount}, gen_random_uuid()::text, 'test')`;
    await credit(30_000);
    const own = await machine(c);
    await stop(c, own.id);
    await credit(-25_000);
    const { id, hash } = await waiting(c, own.project, { kind: 'shell', spec: { command: 'true' } });
    await c.turn(6_000);
    await credit(100_000);
    await c.turn(6_000);
    assert.equal((await c.see(own.id))['state'], 'stopped');
    await http(c.t.gateway.url, `/v1/schedules/${id}/approve-command`, {
      key: own.key,
      body: { command_hash: hash },
      headers: { 'x-svc-device': own.device },
    });
    await credit(-100_000);
    await c.turn(6_000);
    assert.equal((await c.see(own.id))['state'], 'stopped');
    assert.equal(await waitingFor(c), 'no_host');
    await credit(100_000);
    await c.turn(6_000);
    await until(async () => (await c.see(own.id))['state'] === 'starting');
  });

  test('a machine sees the schedules that it may run, to approve their commands', async () => {
    await using c = await openClouds();
    const [own, elsewhere] = [await machine(c), await machine(c)];
    const { id } = await waiting(c, own.project, { kind: 'shell', spec: { command: 'true' } });
    const seen = async ({ key, device }: { key: string; device: string }) =>
      (await http(c.t.gateway.url, '/v1/schedules', { key, headers: { 'x-svc-device': device } })).body.schedules.map(
        (one: { id: string }) => one.id,
      );
    assert.deepEqual([await seen(own), await seen(elsewhere)], [[id], []]);
  });
});
