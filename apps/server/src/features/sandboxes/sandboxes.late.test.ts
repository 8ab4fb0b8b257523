import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { NodeClient, NodeFailure } from '@svc/sandboxd-api';
import { testClock } from '../../kernel/base/clock.ts';
import { asOwner, until } from '../../testing.ts';
import { setSuspended } from '../accounts/accounts.sql.ts';
import { Nodes } from './nodes/nodes.ts';
import { openSandboxes, startNode, type TestNode } from './sandboxes.testing.ts';

const start = (...more: string[]): Promise<TestNode> =>
  startNode({
    images: process.env['SVC_TEST_IMAGES'] as string,
    args: ['--warm', '0', '--log-level', 'warn', ...more],
  });

/** A node that a test may stop. It is let go at the end, also when the test fails: a stopped process cannot be closed. */
class Freezing implements AsyncDisposable {
  readonly node: TestNode;

  constructor(node: TestNode) {
    this.node = node;
  }

  stop = (): boolean => this.node.process.kill('SIGSTOP');
  go = (): boolean => this.node.process.kill('SIGCONT');

  async [Symbol.asyncDispose](): Promise<void> {
    this.go();
    await this.node.close();
  }
}

describe('nodes of sandboxes that are late', () => {
  test('a node that is slow for some seconds is not taken for gone; one that answers nothing for long is, until it does', async () => {
    await using frozen = new Freezing(await start());
    await using own = await openSandboxes({ socket: frozen.node.socket });
    const clock = testClock();
    const nodes = new Nodes({ ...own.gateway.kernel, clock });
    await nodes.open();
    await nodes.refresh();
    const [known] = nodes.all();
    assert.ok(known);
    frozen.stop();
    assert.deepEqual(await nodes.refresh(), []);
    assert.equal(nodes.of(known.id), known.client);
    clock.advance(20_000);
    assert.deepEqual(
      (await nodes.refresh()).map(({ id }) => id),
      [known.id],
    );
    assert.throws(() => nodes.of(known.id), /does not answer/);
    frozen.go();
    await until(async () => (await nodes.refresh()).length === 0);
    // Its patience is whole again, however long ago it was slow before.
    clock.advance(60_000);
    frozen.stop();
    assert.deepEqual(await nodes.refresh(), []);
    assert.ok(nodes.of(known.id));
    frozen.go();
    nodes.close();
  });

  test('a node that answers is not taken for gone because the database failed, or because the gateway itself stood still', async () => {
    await using frozen = new Freezing(await start());
    await using own = await openSandboxes({ socket: frozen.node.socket });
    const clock = testClock();
    const nodes = new Nodes({ ...own.gateway.kernel, clock });
    await nodes.open();
    await nodes.refresh();
    const [known] = nodes.all();
    assert.ok(known);
    await asOwner(own.database, async (sql) => {
      await sql`create function sandboxes.fails() returns trigger language plpgsql as $$ begin raise 'full'; end $$`;
      await sql`create trigger fails before insert or update on sandboxes.nodes execute function sandboxes.fails()`;
    });
    assert.deepEqual([await nodes.refresh(), nodes.of(known.id)], [[], known.client]);
    await asOwner(own.database, (sql) => sql`drop trigger fails on sandboxes.nodes`);
    await nodes.refresh();
    frozen.stop();
    const asked = nodes.refresh();
    clock.advance(60_000);
    assert.deepEqual([await asked, nodes.of(known.id)], [[], known.client]);
    frozen.go();
    nodes.close();
  });

  test('a node that answers nobody for 40 s is missing, hung or gone, until it answers; one of another day is not', async () => {
    await using frozen = new Freezing(await start());
    await using own = await openSandboxes({ socket: frozen.node.socket });
    const clock = testClock();
    const { kernel } = own.gateway;
    const nodes = new Nodes({ ...kernel, clock });
    await nodes.open();
    await nodes.refresh();
    const after = async (ms: number) => {
      clock.advance(ms);
      await nodes.refresh();
      return nodes.presence();
    };
    assert.equal(nodes.presence(), 'there');
    frozen.stop();
    await after(0);
    assert.equal(await after(35_000), undefined, 'a restart takes less');
    assert.equal(await after(10_000), 'missing');
    assert.deepEqual(nodes.counts()?.lost, 1);
    frozen.go();
    await until(async () => (await after(5_000)) === 'there');
    nodes.close();
    await own.gateway.app.drain();
    await kernel.sql`update sandboxes.nodes set seen_at = now() - interval '2 days', address = 'unix:/gone.sock'`;
    const later = new Nodes({ ...kernel, config: { ...kernel.config, sandboxdSocket: '/gone.sock' } });
    await later.open();
    await later.refresh();
    assert.equal(later.presence(), 'none');
    later.close();
  });

  test('a sandbox goes to a node that answers, and to one that is late where there is no other', async () => {
    await using frozen = new Freezing(await start('--slots', '10'));
    await using other = new Freezing(await start('--slots', '2'));
    await using own = await openSandboxes({ socket: frozen.node.socket });
    const { kernel } = own.gateway;
    const { id } = await other.node.client.node();
    await kernel.sql`
      insert into sandboxes.nodes (id, address, seen_at) values (${id}, ${`unix:${other.node.socket}`}, now())`;
    const nodes = new Nodes({ ...kernel, clock: testClock() });
    await nodes.open();
    await nodes.refresh();
    assert.equal(nodes.all().length, 2);
    const chosen = () => nodes.place('v1', 'svc-base')?.client.socketPath;
    assert.equal(chosen(), frozen.node.socket);
    frozen.stop();
    await nodes.refresh();
    assert.equal(chosen(), other.node.socket);
    other.stop();
    await nodes.refresh();
    assert.equal(chosen(), frozen.node.socket);
    nodes.close();
  });

  test('a sandbox of a suspended account on a node that hangs holds back no other account, nor the end of the gateway', async () => {
    // One place: the second sandbox goes elsewhere.
    await using frozen = new Freezing(await start('--slots', '1'));
    await using closing = new AsyncDisposableStack();
    const own = await openSandboxes({ socket: frozen.node.socket });
    closing.defer(() => own.database.drop());
    closing.defer(() => own.gateway.close());
    const { sql } = own.gateway.kernel;
    const first = await own.create();
    await using other = new Freezing(await start('--slots', '4'));
    const { id } = await other.node.client.node();
    await sql`insert into sandboxes.nodes (id, address, seen_at) values (${id}, ${`unix:${other.node.socket}`}, now())`;
    const theirs = await own.fresh();
    let second = '';
    await until(async () => {
      const { status, body } = await theirs.call('POST', '/v1/sandboxes', { backend: 'v2' });
      if (status === 200) second = body.id;
      return status === 200;
    });
    const stateOf = async (sandbox: string): Promise<string | undefined> =>
      (await sql<{ state: string }[]>`select state from sandboxes.sandboxes where id = ${sandbox}`)[0]?.state;
    frozen.stop();
    await setSuspended(sql, own.account.id, true);
    await until(async () => (await stateOf(first.id)) === 'pausing');
    await setSuspended(sql, theirs.account.id, true);
    await until(async () => (await stateOf(second)) === 'paused');
    assert.equal(await stateOf(first.id), 'pausing');
    await own.gateway.close();
  });

  test('a node that so many wait for that it takes no connection more is late, not gone', async () => {
    await using frozen = new Freezing(await start());
    frozen.stop();
    // More than wait at a socket of Node's (511).
    const waiting = Array.from({ length: 700 }, () => connect(frozen.node.socket).on('error', () => {}));
    await until(() => waiting.some((socket) => socket.errored !== null));
    await assert.rejects(frozen.node.client.node(), (error) => error instanceof NodeFailure && error.isLate);
    for (const socket of waiting) socket.destroy();
  });

  test('an answer that does not end is late, as one that does not begin', async () => {
    const socket = join(mkdtempSync(join(tmpdir(), 'svc-late-')), 'node.sock');
    const open: ServerResponse[] = [];
    const server = createServer((_, response) => {
      open.push(response.writeHead(200));
      response.write('{');
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    const client = new NodeClient(socket);
    const drip = setInterval(() => open.forEach((response) => response.write(' ')), 100);
    await assert.rejects(client.node(), (error) => error instanceof NodeFailure && error.isLate);
    clearInterval(drip);
    client.close();
    server.closeAllConnections();
    server.close();
  });
});
