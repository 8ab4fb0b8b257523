import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { checkPlatform } from '../../doctor.platform.ts';
import { createAccount, openTest, startGateway, testDatabase, until } from '../../testing.ts';
import { endOfAccount } from './sandboxes.keeper.ts';
import { Nodes } from './nodes/nodes.ts';
import { nodeOfTests, openSandboxes, sandboxesTest, startNode } from './sandboxes.testing.ts';

const machine = (name: string) => ({ id: `id of ${name}`, name });

describe('one database, and nodes on two machines', () => {
  test('the second node is refused for new sandboxes and told, the first is lost to nobody, and the second follows it', async () => {
    const images = process.env['SVC_TEST_IMAGES'] as string;
    await using closing = new AsyncDisposableStack();
    const node = await startNode({ images, args: ['--warm', '0', '--log-level', 'warn'] });
    closing.defer(() => node.close());
    await using database = await testDatabase();
    const start = (socket: string, name: string) =>
      startGateway(database, {
        settings: { SVC_SANDBOXD_SOCKET: socket, SVC_LOG_LEVEL: 'error' },
        log: { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream,
        machine: machine(name),
      });
    const lines: string[] = [];
    await using one = await start(nodeOfTests(), 'one');
    await using gateway = await start(node.socket, 'two');
    const account = await createAccount(one);
    const first = sandboxesTest(database, one, node.client, account);
    const second = sandboxesTest(database, gateway, node.client, account);
    const { sql } = gateway.kernel;

    const box = await first.create({ backend: 'v1' });
    assert.equal((await first.exec(box, 'echo here')).stdout, 'here\n');
    for (const refused of [
      await second.call('POST', '/v1/sandboxes', { backend: 'v1' }),
      await second.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'true' }),
    ]) {
      assert.deepEqual([refused.status, refused.body.error.code], [503, 'sandbox_capacity']);
      assert.match(refused.body.error.message, /on another machine/);
      assert.equal(refused.headers.get('x-should-retry'), 'false');
    }
    assert.equal(lines.filter((line) => line.includes('keep nodes on one machine')).length, 1);
    for (const { kernel } of [one, gateway]) {
      const told = (await checkPlatform(kernel)).find(({ name }) => name === 'sandbox machines');
      assert.ok(told?.ok === false, 'said by both');
      assert.match(told.found, /^the node of two gets no new sandbox: those of this platform are on one/);
    }

    // The first machine is gone. The test's clock is the database's: it is made to have been seen long ago.
    const [{ id: ofFirst }] = (await sql`select id from sandboxes.nodes where machine_name = 'one'`) as [
      { id: string },
    ];
    const missed = () => sql`select 1 from sandboxes.nodes where missing_since is not null`;
    assert.equal((await missed()).length, 0, 'no gateway misses what another one sees');
    await first.clear();
    await one.close();
    await sql`
      update sandboxes.nodes set seen_at = now() - interval '2 minutes', address = 'unix:/gone.sock' where id = ${ofFirst}`;
    await until(async () => (await second.call('POST', '/v1/sandboxes', { backend: 'v1' })).status === 200);
    assert.equal((await missed()).length, 1);
    await second.clear();
  });

  test('a node is not taken for another one with its path on another machine, which is neither missed nor asked', async () => {
    await using t = await openSandboxes({ machine: machine('one') });
    const { kernel } = t.gateway;
    const { sql } = kernel;
    const [other, box] = [randomUUID(), randomUUID()];
    await sql`
      insert into sandboxes.nodes (id, address, machine, machine_name, taken_at, seen_at)
      values (${other}, ${`unix:${nodeOfTests()}`}, 'id of two', 'two', now() + interval '1 hour', now() + interval '10 minutes')`;
    await sql`
      insert into sandboxes.sandboxes (id, account_id, key_id, node_id, state, backend, template, egress, metadata,
        created_at, expires_at, moved_at, memory_mb)
      values (${box}, ${t.account.id}, ${t.account.keyId}, ${other}, 'running', 'v1', 'svc-base', '{"mode":"none"}', '{}',
        now(), now() + interval '1 hour', now(), 1024)`;
    const nodes = new Nodes(kernel);
    await nodes.open();
    assert.deepEqual(await nodes.refresh(), []);
    assert.throws(() => nodes.of(other), /on another machine/);
    let tries = 0;
    const dial = nodes.whenThere(other, () => Promise.resolve((tries += 1)));
    await assert.rejects(dial, /on another machine/);
    assert.equal(tries, 0, 'a visitor of a preview is not kept waiting');
    nodes.close();
    const call = await t.call('POST', `/v1/sandboxes/${box}/exec`, { shell: 'true' });
    assert.equal(call.status, 503);
    // It is ended where it is, by a gateway beside it.
    assert.deepEqual(await endOfAccount(kernel, t.account.id), { ended: 0, left: 1 });
    await sql`update sandboxes.nodes set seen_at = now() - interval '2 minutes' where id = ${other}`;
    await until(async () => {
      const rows = await sql`select 1 from sandboxes.nodes where id = ${other} and missing_since is not null`;
      return rows.length === 1;
    });
  });

  test('of two machines that were cloned the second is refused and told, and the sandboxes of the first run on', async () => {
    const images = process.env['SVC_TEST_IMAGES'] as string;
    await using closing = new AsyncDisposableStack();
    const lines: string[] = [];
    await using t = await openSandboxes({ machine: machine('one') });
    const { sql } = t.gateway.kernel;
    const box = await t.create({ backend: 'v1' });
    const dir = mkdtempSync(join(tmpdir(), 'svc-clone-'));
    writeFileSync(join(dir, 'node-id'), (await t.node.node()).id);
    const node = await startNode({ images, dir, args: ['--warm', '0', '--log-level', 'warn'] });
    closing.defer(() => node.close());
    await using gateway = await startGateway(t.database, {
      settings: { SVC_SANDBOXD_SOCKET: node.socket, SVC_LOG_LEVEL: 'error' },
      log: { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream,
      machine: machine('two'),
    });
    const second = sandboxesTest(t.database, gateway, node.client, t.account);
    await until(() => lines.some((line) => line.includes('remove sandboxd/node-id')));
    const refused = await second.call('POST', '/v1/sandboxes', { backend: 'v1' });
    assert.deepEqual([refused.status, refused.body.error.code], [503, 'sandbox_capacity']);
    for (const { kernel } of [t.gateway, gateway]) {
      const told = (await checkPlatform(kernel)).find(({ name }) => name === 'sandbox machines');
      assert.ok(told?.ok === false, 'said by both');
      assert.match(told.found, /that of one goes on, that of two is refused/);
    }
    const nodes = new Nodes(gateway.kernel);
    await nodes.open();
    await nodes.refresh();
    assert.deepEqual([nodes.all(), nodes.counts()?.refused], [[], 1]);
    assert.match(nodes.refusal() ?? '', /has the id of another one/, 'without 40 s of silence');
    nodes.close();
    assert.equal((await t.exec(box, 'echo here')).stdout, 'here\n');
    assert.equal((await sql`select 1 from sandboxes.nodes`).length, 1);
    // Nothing is done at the wrong one for the first.
    assert.deepEqual((await endOfAccount(t.gateway.kernel, t.account.id)).ended, 1);
    assert.deepEqual(await node.client.list(), []);
  });

  test('a node that containers share is nowhere else while it starts anew, whichever of them asked it last', async () => {
    await using t = await openTest();
    const { kernel } = t.gateway;
    const folder = mkdtempSync(join(tmpdir(), 'svc-shared-'));
    try {
      const socket = join(folder, 'sandboxd.sock');
      symlinkSync(nodeOfTests(), socket);
      const nodes = new Nodes({ ...kernel, config: { ...kernel.config, sandboxdSocket: socket } });
      await nodes.open();
      await nodes.refresh();
      const [node] = nodes.all();
      assert.ok(node);
      unlinkSync(socket);
      node.client.close();
      await kernel.sql`update sandboxes.nodes set machine = 'id of two', seen_at = now() + interval '10 minutes'`;
      await nodes.refresh();
      assert.throws(() => nodes.of(node.id), /does not answer/);
      nodes.close();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
