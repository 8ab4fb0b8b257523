import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { svcOf } from '../../testing.commands.ts';
import { shared } from '../../testing.shared.ts';
import { mayStillReach } from './environments.reach.ts';
import { environmentOf, join } from './environments.testing.ts';

describe('ports that somebody opened for others', () => {
  const { gateway } = shared(() => openTest());
  const ask = async ({ key }: Pick<TestAccount, 'key'>, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });

  /** An environment in which a guest published ports to everybody, to the organisation and to developers. */
  async function begin() {
    const [owner, guest] = [await createAccount(gateway), await createAccount(gateway)];
    const id = await environmentOf(gateway, owner);
    const path = `/v1/environments/${id}`;
    await join(gateway, id, { by: owner, account: guest, role: 'maintainer' });
    const publish = async (who: TestAccount, port: number, visibility: string) =>
      assert.ok((await ask(who, 'PUT', `${path}/ports/${port}`, { visibility })).status < 300);
    await publish(guest, 3000, 'public');
    await publish(guest, 3001, 'org');
    await publish(guest, 3002, 'owner');
    await publish(owner, 3003, 'public');
    const ports = async () =>
      (await ask(owner, 'GET', `${path}/ports`)).body.ports.map(({ port }: { port: number }) => port);
    return { owner, guest, id, path, publish, ports };
  }

  test('are closed when they are taken out, which the events tell, and what is open through them ends', async () => {
    const { owner, guest, id, path, ports } = await begin();
    const { sql } = gateway.kernel;
    await sql`update environments.environments set state = 'running' where id = ${id}`;
    const stranger = await createAccount(gateway);
    const reaches = async () =>
      mayStillReach(sql, [{ environmentId: id, accountId: stranger.id, port: 3000, isPublished: true }]);
    assert.deepEqual(await reaches(), [true]);
    assert.equal((await ask(owner, 'DELETE', `${path}/members/${guest.id}`)).status, 200);
    assert.deepEqual([await ports(), await reaches()], [[3002, 3003], [false]]);
    const { events } = (await ask(owner, 'GET', `${path}/events`)).body;
    const closed = events.filter(({ kind }: { kind: string }) => kind === 'port_removed');
    assert.deepEqual(
      closed.map(({ payload }: { payload: object }) => payload),
      [
        { port: 3001, visibility: 'org', user_id: guest.id, reason: 'publisher_lost_role' },
        { port: 3000, visibility: 'public', user_id: guest.id, reason: 'publisher_lost_role' },
      ],
    );
  });

  test('are closed when they leave, and when their account is deleted', async () => {
    const left = await begin();
    assert.equal((await ask(left.guest, 'DELETE', `${left.path}/members/${left.guest.id}`)).status, 200);
    assert.deepEqual(await left.ports(), [3002, 3003]);
    const deleted = await begin();
    await svcOf(gateway)('accounts', 'delete', '--email', deleted.guest.email, '--yes', '--force');
    assert.deepEqual(await deleted.ports(), [3002, 3003]);
  });

  test('stay as far as a lower role may publish them', async () => {
    const { owner, guest, path, ports } = await begin();
    const lower = async (role: string) =>
      assert.equal((await ask(owner, 'PATCH', `${path}/members/${guest.id}`, { role })).status, 200);
    await lower('developer');
    assert.deepEqual(await ports(), [3001, 3002, 3003]);
    await lower('viewer');
    assert.deepEqual(await ports(), [3002, 3003]);
  });

  test('stay when somebody else who may has published them once more, and those of the owner whoever has', async () => {
    const { owner, guest, path, publish, ports } = await begin();
    await publish(owner, 3000, 'public');
    await publish(guest, 3003, 'public');
    assert.equal((await ask(owner, 'DELETE', `${path}/members/${guest.id}`)).status, 200);
    assert.deepEqual(await ports(), [3000, 3002, 3003]);
  });

  test('are closed when they opened them wider, though the owner had published them before', async () => {
    const { owner, guest, path, publish, ports } = await begin();
    await publish(owner, 3003, 'org');
    await publish(guest, 3003, 'public');
    assert.equal((await ask(owner, 'DELETE', `${path}/members/${guest.id}`)).status, 200);
    assert.deepEqual(await ports(), [3002]);
  });
});
