import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { NodeStatus } from '@svc/sandboxd-api';
import { shared } from '../../testing.shared.ts';
import { http, openTest, startGateway, until } from '../../testing.ts';
import { type Json, nodeOfTests, openSandboxes } from './sandboxes.testing.ts';

describe('the end of a gateway', () => {
  const t = shared(() => openSandboxes());

  test('lets commands end for a while, then ends them and says that they had begun', async () => {
    const gateway = await startGateway(t.database, { settings: { SVC_SANDBOXD_SOCKET: nodeOfTests() } });
    const boxes = await Promise.all([t.create(), t.create(), t.create()]);
    const [short, long, cell] = boxes;
    const ask = (box: Json, path: string, body: Json) =>
      http(gateway.url, `/v1/sandboxes/${box.id}/${path}`, { method: 'POST', key: t.account.key, body });
    const ends = ask(short, 'exec', { shell: 'touch begun; while [ ! -e go ]; do sleep 0.05; done; echo done' });
    const cut = [
      ask(long, 'exec', { shell: 'touch begun; sleep 7788', timeout_seconds: 900 }),
      ask(cell, 'run_code', { code: 'kept = 1\nopen("begun", "w").close()\nwhile True: pass', timeout_seconds: 900 }),
    ];
    for (const box of boxes) {
      await until(async () => (await t.call('GET', `/v1/sandboxes/${box.id}/files/begun`)).status === 200);
    }
    const closed = gateway.close();
    await t.call('PUT', `/v1/sandboxes/${short.id}/files/go`);
    const done = await ends;
    assert.deepEqual([done.status, done.body.stdout], [200, 'done\n']);
    for (const answer of await Promise.all(cut)) {
      assert.deepEqual([answer.status, answer.body.error.code], [409, 'command_interrupted']);
      assert.match(answer.body.error.message, /the platform stops/);
      assert.equal(answer.headers.get('x-should-retry'), 'false');
    }
    await closed;
    // The node hears a moment later that nobody waits for them any more.
    for (const { id } of [long, cell])
      await until(async () => (await t.call('POST', `/v1/sandboxes/${id}/exec`, { shell: 'true' })).status === 200);
    assert.equal((await t.exec(long, 'pgrep -f "sleep 778[8]"')).stdout, '');
    const next = await t.cell(cell, 'kept');
    assert.deepEqual([next.result, next.kernel_restarted], ['1', false]);
    await t.clear();
  });
});

describe('a gateway that has just started', () => {
  test('waits for the node of a sandbox, as a create does', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-'));
    const status: NodeStatus = {
      id: randomUUID(),
      backends: { v1: { available: true }, v2: { available: true } },
      images: [],
      slots: { total: 4, used: 0 },
    };
    const node = createServer((request, response) => {
      request.resume();
      const body = { ...status, accepted: true, sandboxes: [], entries: [] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    const socket = join(folder, 'node.sock');
    try {
      await using t = await openTest({ settings: { SVC_SANDBOXD_SOCKET: socket } });
      const { sql } = t.gateway.kernel;
      const id = randomUUID();
      await sql`
        insert into sandboxes.sandboxes
          (id, account_id, key_id, node_id, state, backend, template, egress, metadata, created_at, expires_at)
        values (${id}, ${t.account.id}, ${t.account.keyId}, ${status.id}, 'running', 'v2', 'svc-base', '{"mode":"none"}',
          '{}', now(), now() + interval '1 hour')`;
      const asked = http(t.gateway.url, `/v1/sandboxes/${id}/files`, { key: t.account.key });
      await once(node.listen(socket), 'listening');
      const { status: code, body } = await asked;
      assert.deepEqual([code, body], [200, { entries: [] }]);
    } finally {
      node.closeAllConnections();
      node.close();
      await rm(folder, { recursive: true });
    }
  });
});
