import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { NodeStatus } from '@svc/sandboxd-api';
import { http, openTest } from '../../testing.ts';

const gvisor = 'gVisor needs sandboxd to run as root on Linux: start it with sudo';
const image = 'image svc-base cannot be built: images are built as root';

/** A gateway with a node as an ordinary user starts it: no root, so no v2 and no image. */
async function openOrdinary(v1: NodeStatus['backends']['v1']) {
  await using opening = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'svc-'));
  opening.defer(() => rm(folder, { recursive: true }));
  const status: NodeStatus = {
    id: randomUUID(),
    backends: { v1, v2: { available: false, reason: gvisor } },
    images: [{ template: 'svc-base', state: 'failed', progress: 0, step: 'images are built as root' }],
    slots: { total: 4, used: 0 },
  };
  const node = createServer((request, response) => {
    request.resume();
    const isCreate = request.method === 'PUT';
    const body = isCreate ? { error: { code: 'sandbox_capacity', message: image } } : { ...status, sandboxes: [] };
    response.writeHead(isCreate ? 503 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const socket = join(folder, 'node.sock');
  await once(node.listen(socket), 'listening');
  opening.defer(() => {
    node.closeAllConnections();
    node.close();
  });
  const t = opening.use(await openTest({ settings: { SVC_SANDBOXD_SOCKET: socket } }));
  const stack = opening.move();
  const create = async (fields: object = {}): Promise<string> => {
    const { status: code, body } = await http(t.gateway.url, '/v1/sandboxes', { key: t.account.key, body: fields });
    assert.deepEqual([code, body.error.code], [503, 'sandbox_capacity']);
    return body.error.message;
  };
  return { create, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('a create that nothing here can do', () => {
  test('names what is missing for v1 where v1 can run and v2 cannot; what asks for v2 hears of v2', async () => {
    await using t = await openOrdinary({ available: true });
    assert.match(await t.create(), new RegExp(image));
    assert.match(await t.create({ backend: 'v1' }), new RegExp(image));
    assert.match(await t.create({ backend: 'v2' }), new RegExp(gvisor));
  });

  test('names what is missing for v2 where neither can run', async () => {
    await using t = await openOrdinary({ available: false, reason: 'bubblewrap is not installed' });
    assert.match(await t.create(), new RegExp(gvisor));
    assert.match(await t.create({ backend: 'v1' }), /bubblewrap/);
  });
});
