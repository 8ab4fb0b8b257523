import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { clientOf, createAccount, http, openTest, until } from '../../testing.ts';

interface Device {
  id: string;
  name: string;
  platform: string;
  created_at: string;
  last_seen: string;
}

describe('devices', () => {
  const clock = testClock();
  const { gateway, account } = shared(() => openTest({ clock }));
  const use = (id: string, name?: string, platform?: string, key = account.key) => {
    const device = { id, ...(name !== undefined && { name }), ...(platform !== undefined && { platform }) };
    return createClient({ baseUrl: gateway.url, apiKey: key, retries: 0, device }).keys.list();
  };
  const find = async (id: string, key = account.key): Promise<Device | undefined> =>
    (await http(gateway.url, '/v1/devices', { key })).body.devices.find((device: Device) => device.id === id);

  test('a device is registered by its first call, there on the answer, whatever the case of its id', async () => {
    const id = randomUUID();
    await use(id.toUpperCase(), 'Ana’s laptop', 'desktop');
    const device = (await find(id)) as Device;
    assert.deepEqual([device.name, device.platform], ['Ana’s laptop', 'desktop']);
    assert.ok(Math.abs(Date.parse(device.last_seen) - Date.now()) < 60_000);
    assert.equal(device.created_at, device.last_seen);
  });

  test('later calls update name and platform; what a call does not name stays', async () => {
    const id = randomUUID();
    await use(id);
    assert.equal((await find(id))?.name, 'Unnamed device');
    await use(id, 'Phone');
    await use(id, undefined, 'android');
    assert.deepEqual([(await find(id))?.name, (await find(id))?.platform], ['Phone', 'android']);
    await use(id, 'New phone', 'android');
    await use(id);
    assert.deepEqual([(await find(id))?.name, (await find(id))?.platform], ['New phone', 'android']);
  });

  test('a deleted device is gone with its machine and its approvals; calling again it is a new one', async () => {
    const id = randomUUID();
    const [host, other] = [clientOf(gateway, account.key, id), await createAccount(gateway)];
    await host.scheduler.claim({ body: { kinds: ['shell'] } });
    const schedule = await host.schedules.create({
      body: { name: 'x', kind: 'shell', spec: { command: 'true' }, trigger: { type: 'event', trigger_id: 'go' } },
    });
    const command_hash = schedule.command_hash as string;
    await host.schedules.approveCommand({
      params: { id: schedule.id },
      body: { command_hash },
    });
    await use(id, 'theirs', undefined, other.key);
    const remove = (key: string) => http(gateway.url, `/v1/devices/${id}`, { method: 'DELETE', key });
    assert.deepEqual((await remove(account.key)).body, { deleted: true, id });
    assert.equal((await remove(account.key)).status, 404);
    assert.equal(await find(id), undefined);
    assert.equal((await find(id, other.key))?.name, 'theirs');
    const { hosts } = await clientOf(gateway, account.key).scheduler.hosts();
    assert.equal(
      hosts.some(({ device_id }) => device_id === id),
      false,
    );
    const { approvals } = await clientOf(gateway, account.key).schedules.get({ params: { id: schedule.id } });
    assert.deepEqual(approvals, []);
    await use(id, 'again');
    assert.equal((await find(id))?.name, 'again');
  });

  test('one id in two accounts is two devices', async () => {
    const other = await createAccount(gateway);
    const id = randomUUID();
    await use(id, 'mine');
    await use(id, 'theirs', undefined, other.key);
    assert.deepEqual([(await find(id))?.name, (await find(id, other.key))?.name], ['mine', 'theirs']);
    const stranger = await createAccount(gateway);
    assert.equal(await find(id, stranger.key), undefined);
  });

  test('names are any text: UTF-8 kept, long ones cut at 120, never in the middle of a character', async () => {
    const names = ['Telefonul lui Ștefan', '客厅的电脑', '📱 phone', `it's "quoted" \\ %00`, 'é'];
    for (const name of names) {
      const id = randomUUID();
      await use(id, name);
      assert.equal((await find(id))?.name, name);
    }
    const id = randomUUID();
    await use(id, `${'a'.repeat(119)}📱📱`);
    const cut = (await find(id))?.name ?? '';
    assert.ok(cut.isWellFormed() && cut.length <= 120);
    assert.ok(cut.startsWith('a'.repeat(119)) && !cut.includes('\ufffd'), JSON.stringify(cut.slice(115)));
  });

  test('a Latin-1 name of a client that knows no UTF-8 is read as such; a blank one counts as none', async () => {
    const id = randomUUID();
    const headers = { 'x-svc-device': id, 'x-svc-device-name': 'Andr\u00e9 ' };
    await http(gateway.url, '/v1/keys', { key: account.key, headers });
    assert.equal((await find(id))?.name, 'André');
    await http(gateway.url, '/v1/keys', { key: account.key, headers: { ...headers, 'x-svc-device-name': '   ' } });
    assert.equal((await find(id))?.name, 'André');
  });

  test('last_seen follows its use at most 30 s behind', async () => {
    const id = randomUUID();
    await use(id, 'seen');
    const { sql } = gateway.kernel;
    await sql`update devices.devices set last_seen = now() - interval '1 hour' where id = ${id}`;
    const age = async () => Date.now() - Date.parse((await find(id))?.last_seen as string);
    clock.advance(29_000);
    await use(id, 'seen');
    assert.ok((await age()) > 3_000_000, 'within 30 s a repeat costs no write');
    clock.advance(1_000);
    await use(id, 'seen');
    await until(async () => (await age()) < 60_000);
  });

  test('many first uses at once make one device', async () => {
    const id = randomUUID();
    await Promise.all(Array.from({ length: 20 }, () => use(id, 'crowd', 'web')));
    const rows = await gateway.kernel.sql`select 1 from devices.devices where id = ${id}`;
    assert.equal(rows.length, 1);
  });

  test('the list begins with the one seen last', async () => {
    const other = await createAccount(gateway);
    const [one, two] = [randomUUID(), randomUUID()];
    await use(one, 'one', undefined, other.key);
    await use(two, 'two', undefined, other.key);
    const ids = async () =>
      (await http(gateway.url, '/v1/devices', { key: other.key })).body.devices.map((device: Device) => device.id);
    assert.deepEqual(await ids(), [two, one]);
    await use(one, 'one again', undefined, other.key);
    assert.deepEqual(await ids(), [one, two]);
  });

  test('no device is registered by a call that is refused', async () => {
    const id = randomUUID();
    await http(gateway.url, '/v1/keys', { headers: { 'x-svc-device': id } });
    assert.equal((await gateway.kernel.sql`select 1 from devices.devices where id = ${id}`).length, 0);
  });
});
