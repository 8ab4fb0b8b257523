import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { environmentOf } from '../environments/environments.testing.ts';
import { newDevice, openScheduler, type SchedulerTest, second, shell } from '../scheduler/scheduler.testing.ts';
import { http, openHost } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';

describe('machines', () => {
  let t: SchedulerTest;
  const base = shared(() => openScheduler());
  beforeEach(async () => {
    t = await base.fresh();
  });
  const byHand = { trigger: { type: 'event', trigger_id: 'never' } };
  const list = async (query = '') => (await t.call('GET', `/v1/machines${query}`)).body.machines;
  const idsOf = async (query = '') => (await list(query)).map(({ device_id: id }: { device_id: string }) => id);
  const approvalsOf = async (device: string): Promise<string[]> =>
    (await t.call('GET', `/v1/machines/${device}/approvals`)).body.approvals.map(({ name }: { name: string }) => name);
  /** A key of the account with these scopes. */
  const keyWith = async (...scopes: string[]): Promise<{ id: string; key: string }> =>
    (await t.call('POST', '/v1/keys', { name: 'some', scopes })).body;
  const asks = (key: string) => (method: string, path: string, body?: object, device?: string) =>
    http(t.gateway.url, path, {
      method,
      key,
      ...(body && { body }),
      ...(device && { headers: { 'x-svc-device': device } }),
    });
  /** A machine that came by an invitation, with its own key. */
  const invited = async (): Promise<{ device: string; key: string }> => {
    const device = newDevice();
    const { code } = (await t.call('POST', '/v1/hosts/invites', {})).body;
    const body = { code, device: { id: device, name: 'builder', platform: 'desktop' } };
    const { key } = (await http(t.gateway.url, '/v1/hosts/invites/redeem', { method: 'POST', body })).body;
    assert.equal((await asks(key)('POST', '/v1/scheduler/claim', {}, device)).status, 200);
    return { device, key };
  };

  test('what serves is listed, whatever as; what only calls is not', async () => {
    const [phone, worker] = [newDevice(), newDevice()];
    await t.call('GET', '/v1/devices', undefined, phone);
    await t.claim(worker, { tags: ['gpu'], kinds: ['shell'] });
    const host = await openHost(t.gateway, t.account, newDevice(), { os: 'Linux', hostname: 'lab-7', roots: '/srv' });
    const machines = await list();
    const of = (id: string) => machines.find((one: { device_id: string }) => one.device_id === id);
    assert.equal(machines.length, 2);
    assert.equal((await t.call('GET', `/v1/machines/${phone}`)).status, 404);
    const { online, tags, kinds, serves, roots, running, approvals_waiting, paused } = of(worker);
    assert.deepEqual(
      { online, tags, kinds, serves, roots, running, approvals_waiting, paused },
      {
        online: true,
        tags: ['gpu'],
        kinds: ['shell'],
        serves: ['scheduler'],
        roots: [],
        running: 0,
        approvals_waiting: 0,
        paused: false,
      },
    );
    const present = of(host.deviceId);
    assert.deepEqual(
      [present.online, present.os, present.hostname, present.roots, present.serves],
      [true, 'Linux', 'lab-7', ['/srv'], ['hosts']],
    );
    assert.deepEqual((await t.call('GET', `/v1/machines/${host.deviceId}`)).body, present);
    host.leave();
  });

  test('the list is filtered and paged by the server', async () => {
    const [one, two, three] = [newDevice(), newDevice(), newDevice()];
    await t.claim(one, { tags: ['a'] });
    await t.claim(two, { tags: ['a', 'b'] });
    t.clock.leap(60 * second);
    await t.claim(three);
    assert.deepEqual(await idsOf(), [three, two, one]);
    assert.deepEqual(await idsOf('?online=true'), [three]);
    assert.deepEqual(await idsOf('?online=false'), [two, one]);
    assert.deepEqual(await idsOf('?tag=b'), [two]);
    await t.call('PATCH', `/v1/machines/${one}`, { name: '100%_sure' });
    assert.deepEqual(await idsOf('?q=0%25_SU'), [one], 'signs of a pattern are signs of a name');
    assert.deepEqual(await idsOf('?q=0%25s'), []);
    const first = (await t.call('GET', '/v1/machines?limit=2')).body;
    const rest = (await t.call('GET', `/v1/machines?limit=2&cursor=${first.next_cursor}`)).body;
    assert.deepEqual([first.machines.length, rest.machines.length, rest.next_cursor], [2, 1, undefined]);
    for (const query of ['?online=maybe', '?limit=201', '?cursor=none'])
      assert.equal((await t.call('GET', `/v1/machines${query}`)).status, 400, query);
  });

  test('a command waits for approval on every machine that it may come to, until it is approved there as it is', async () => {
    const [one, two] = [newDevice(), newDevice()];
    await t.claim(one, { tags: ['linux', 'gpu'] });
    await t.claim(two, { kinds: ['agent'] });
    const here = await t.create(shell('true', { ...byHand, name: 'here', target: { type: 'host', device_id: one } }));
    await t.create(shell('true', { ...byHand, name: 'any' }));
    await t.create(shell('true', { ...byHand, name: 'tags', target: { type: 'tags', tags: ['gpu'] } }));
    await t.create(shell('true', { ...byHand, name: 'other tags', target: { type: 'tags', tags: ['mac'] } }));
    await t.create(
      shell('true', {
        ...byHand,
        name: 'failover',
        target: { type: 'host', device_id: two },
        failover: [['mac'], ['linux']],
      }),
    );
    await t.create(shell('true', { ...byHand, name: 'off', enabled: false }));
    await t.create({ ...byHand, name: 'agent' });
    assert.deepEqual((await approvalsOf(one)).toSorted(), ['any', 'failover', 'here', 'tags']);
    assert.deepEqual(await approvalsOf(two), [], 'it takes no commands');
    assert.deepEqual(
      (await list('?tag=gpu')).map((machine: { approvals_waiting: number }) => machine.approvals_waiting),
      [4],
    );
    const [waits] = (await t.call('GET', `/v1/machines/${one}/approvals?limit=1`)).body.approvals;
    assert.match(waits.line, new RegExp(`^svc host approve ${waits.schedule_id}$`));
    const approve = async (): Promise<void> => {
      const { command_hash } = await t.get(here.id);
      await t.call('POST', `/v1/schedules/${here.id}/approve-command`, { command_hash }, one);
    };
    await approve();
    assert.deepEqual((await approvalsOf(one)).toSorted(), ['any', 'failover', 'tags']);
    await t.call('PATCH', `/v1/schedules/${here.id}`, { spec: { command: 'false' } });
    assert.equal((await approvalsOf(one)).includes('here'), true, 'other work asks again');
  });

  test('a change counts for the scheduler, and needs the scope of machines alone', async () => {
    const device = newDevice();
    await t.claim(device, { tags: ['own'] });
    const [writes, reads] = [asks((await keyWith('machines')).key), asks((await keyWith('machines:read')).key)];
    const path = `/v1/machines/${device}`;
    const body = { name: 'Builder', tags: ['x'], paused: true, max_parallel: 2 };
    assert.equal((await reads('PATCH', path, body)).status, 403);
    assert.equal((await reads('DELETE', path)).status, 403);
    const changed = await writes('PATCH', path, body);
    const { name, tags, paused, max_parallel } = changed.body;
    assert.deepEqual({ name, tags, paused, max_parallel }, body);
    assert.equal((await writes('GET', '/v1/scheduler/hosts')).status, 403, 'it has no rights besides');
    const [host] = (await t.call('GET', '/v1/scheduler/hosts')).body.hosts;
    assert.deepEqual([host.name, host.tags, host.paused, host.max_parallel], ['Builder', ['x'], true, 2]);
    await t.runNow(await t.create(byHand));
    assert.equal(await t.claim(device), null, 'it is paused');
    const again = await writes('PATCH', path, { name: null, tags: null, max_parallel: null, paused: false });
    assert.deepEqual([again.body.tags, again.body.max_parallel], [['own'], undefined]);
    assert.equal((await writes('PATCH', path, {})).status, 400);
    assert.ok(await t.claim(device));
    assert.equal((await reads('GET', path)).body.running, 1);
    const onlyHost = await openHost(t.gateway, t.account);
    assert.equal((await writes('PATCH', `/v1/machines/${onlyHost.deviceId}`, body)).status, 400);
    onlyHost.leave();
  });

  test('a forgotten machine is refused on its next request, and nothing is approved for it any more', async () => {
    const { device, key } = await invited();
    const schedule = await t.create(shell('true', { ...byHand, target: { type: 'host', device_id: device } }));
    await t.call(
      'POST',
      `/v1/schedules/${schedule.id}/approve-command`,
      { command_hash: schedule.command_hash },
      device,
    );
    const writes = asks((await keyWith('machines')).key);
    const forgotten = await writes('DELETE', `/v1/machines/${device}`);
    assert.deepEqual(forgotten.body, { deleted: true, device_id: device, key_revoked: true });
    assert.equal((await asks(key)('POST', '/v1/scheduler/claim', {}, device)).status, 401);
    assert.deepEqual([await idsOf(), (await t.get(schedule.id)).approvals], [[], []]);
    assert.equal((await writes('DELETE', `/v1/machines/${device}`)).status, 404);
    const { acts } = (await t.call('GET', '/v1/audit?limit=5')).body;
    const actions = acts.map(({ action }: { action: string }) => action);
    assert.ok(actions.includes('machines.remove') && actions.includes('keys.revoke'), String(actions));
  });

  test('a key that may do more than serve is not revoked, nor its machine forgotten by one that may do less', async () => {
    const device = newDevice();
    const person = await keyWith('scheduler', 'scheduler:serve');
    assert.equal((await asks(person.key)('POST', '/v1/scheduler/claim', {}, device)).status, 200);
    const writes = asks((await keyWith('machines')).key);
    assert.equal((await writes('DELETE', `/v1/machines/${device}`)).status, 403);
    assert.deepEqual(await idsOf(), [device]);
    const answer = await t.call('DELETE', `/v1/machines/${device}`);
    assert.deepEqual(answer.body, { deleted: true, device_id: device, key_revoked: false });
    assert.equal((await asks(person.key)('POST', '/v1/scheduler/claim', {}, device)).status, 200);
  });

  test('the machine of an environment says so, and goes with that only', async () => {
    const id = await environmentOf(t.gateway, t.account);
    const device = newDevice();
    await t.call('GET', '/v1/devices', undefined, device);
    await t.gateway.kernel.sql`update environments.environments set device_id = ${device} where id = ${id}`;
    const machine = (await t.call('GET', `/v1/machines/${device}`)).body;
    assert.deepEqual([machine.environment_id, machine.serves, machine.online], [id, ['environment'], false]);
    assert.equal((await t.call('DELETE', `/v1/machines/${device}`)).status, 403);
  });
});
