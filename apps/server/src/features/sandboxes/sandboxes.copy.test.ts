import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { NodeClient } from '@svc/sandboxd-api';
import { checkPlatform } from '../../doctor.platform.ts';
import { readFact } from '../../kernel/db/facts.ts';
import { testClock } from '../../kernel/base/clock.ts';
import { createAccount, http, startGateway, testDatabase, until } from '../../testing.ts';
import { takeTurn } from './nodes/fence.ts';
import { takeNodesOver } from './nodes/fence.sql.ts';
import { ownerOf } from './nodes/nodes.ts';
import { nodeOfTests, openSandboxes, sandboxesTest } from './sandboxes.testing.ts';

const day = 24 * 3_600_000;
const settings = () => ({ SVC_SANDBOXD_SOCKET: nodeOfTests() });

describe('a platform beside its copy', () => {
  test('the copy is refused by the node of the living one, changes nothing there, and says what it is', async () => {
    // Nothing may be connected to a database while it is copied: the first gateway of the living one is over by then.
    const database = await testDatabase();
    const before = await startGateway(database, { settings: settings() });
    const account = await createAccount(before);
    await before.close();
    await using copied = await testDatabase(database);
    const node = new NodeClient(nodeOfTests());
    node.turn = 1;
    await using living = sandboxesTest(database, await startGateway(database, { settings: settings() }), node, account);
    const box = await living.create();
    const paused = await living.create();
    assert.equal((await living.call('POST', `/v1/sandboxes/${paused.id}/pause`)).status, 200);

    await using copy = await startGateway(copied, { settings: settings() });
    const ofCopy = sandboxesTest(copied, copy, node, account);
    const refused = await ofCopy.call('POST', '/v1/sandboxes', { backend: 'v1' });
    assert.deepEqual([refused.status, refused.body.error.code], [503, 'sandbox_capacity']);
    assert.match(refused.body.error.message, /this is a copy of it/);
    const told = (await checkPlatform(copy.kernel)).find(({ name }) => name === 'copy');
    assert.ok(told?.ok === false && /restore confirm/.test(told.fix ?? ''));
    const ready = async () => (await http(copy.url, '/health/ready')).body.checks.sandboxes;
    const { ok, error } = await ready();
    assert.ok(ok === false && /this is a copy of it/.test(error), 'said at once, and in its own words');
    const metrics = await copy.kernel.metrics.registry.metrics();
    assert.match(metrics, /^svc_sandbox_nodes\{state="refused"\} 1$/m);
    assert.equal((await living.exec(box, 'echo here')).stdout, 'here\n');
    assert.equal((await living.call('POST', `/v1/sandboxes/${paused.id}/resume`)).status, 200);

    // Somebody decides for the copy: what it does not know stands still, and is the living one's again when it takes over.
    const frozen = async (): Promise<boolean> => (await node.get(box.id)).frozen_at !== undefined;
    assert.equal(await takeNodesOver(copy.kernel.sql), 1);
    await until(frozen);
    await until(async () => (await ready()).ok);
    assert.equal((await living.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'true' })).status, 503);
    await until(async () => (await takeNodesOver(living.gateway.kernel.sql)) === 1);
    await until(async () => !(await frozen()));
    assert.equal((await living.exec(box, 'echo still')).stdout, 'still\n');
  });

  test('what no row has ever stood for stands still for a day before it is destroyed, and of others nothing is touched', async () => {
    const clock = testClock();
    await using t = await openSandboxes({ clock });
    const owner = (await readFact(t.gateway.kernel.sql, 'installation'))?.toString('hex') ?? '';
    const wanted = { backend: 'v1', template: 'svc-base', egress: { mode: 'none' } } as const;
    const [mine, theirs] = [randomUUID(), randomUUID()];
    const expires_at = Date.now() + 600_000;
    await t.node.create(mine, { ...wanted, owner, expires_at });
    await t.node.create(theirs, { ...wanted, owner: 'another', expires_at });
    const held = async (id: string) => (await t.node.list()).find((state) => state.id === id);
    const eventually = (isSo: () => Promise<boolean>): Promise<void> =>
      until(async () => {
        clock.leap(5_000);
        return isSo();
      });
    await eventually(async () => (await held(mine))?.frozen_at !== undefined);
    clock.leap(day);
    await eventually(async () => (await held(mine)) === undefined);
    assert.equal((await held(theirs))?.frozen_at, undefined);
    await t.node.destroy(theirs);
  });

  test('a platform of a release that tells no turns destroys nothing of one that does', async () => {
    await using t = await openSandboxes();
    const box = await t.create({ backend: 'v1' });
    const older = new NodeClient(nodeOfTests());
    await assert.rejects(older.destroy(box.id), { code: 'fenced' });
    older.close();
    assert.equal((await t.exec(box, 'echo here')).stdout, 'here\n');
  });

  test('two gateways of one platform pass each other at a node, and neither is refused', async () => {
    await using t = await openSandboxes();
    const client = new NodeClient(nodeOfTests());
    const { sql } = t.gateway.kernel;
    const { id } = await client.node();
    const node = { id, client, owner: await ownerOf(sql), holder: 'one' };
    const taken = await Promise.all(Array.from({ length: 200 }, () => takeTurn(sql, node)));
    assert.deepEqual(new Set(taken), new Set([true]));
    client.close();
  });
});
