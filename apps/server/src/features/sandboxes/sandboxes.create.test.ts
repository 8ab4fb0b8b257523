import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { NodeStatus } from '@svc/sandboxd-api';
import { http, openTest, until } from '../../testing.ts';

const gvisor = 'gVisor needs sandboxd to run as root on Linux';
const image = 'image svc-base cannot be built: only root builds images';

/** A gateway with a node as an ordinary user starts it: no root, so no v2 and no image. */
async function openOrdinary(v1: NodeStatus['backends']['v1']) {
  await using opening = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'svc-'));
  opening.defer(() => rm(folder, { recursive: true }));
  const status: NodeStatus = {
    id: randomUUID(),
    backends: { v1, v2: { available: false, reason: gvisor } },
    images: [{ template: 'svc-base', state: 'failed', progress: 0, step: 'only root builds images' }],
    slots: { total: 4, used: 0 },
  };
  const node = createServer((request, response) => {
    request.resume();
    const isCreate = request.method === 'PUT';
    const body = isCreate
      ? { error: { code: 'sandbox_capacity', message: image } }
      : { ...status, accepted: true, sandboxes: [] };
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

  test('names what is missing for both where neither can run, and one that is asked for by itself', async () => {
    await using t = await openOrdinary({ available: false, reason: 'bubblewrap is not installed' });
    assert.equal(await t.create(), `v1: bubblewrap is not installed; v2: ${gvisor}`);
    assert.equal(await t.create({ backend: 'v1' }), 'bubblewrap is not installed');
    assert.equal(await t.create({ backend: 'v2' }), gvisor);
  });
});

describe('a create whose image is built first', () => {
  /** A gateway with a node whose creates are answered by `answer`, and the ids that it was told to destroy. */
  async function openBuilding(answer: (response: ServerResponse) => unknown) {
    await using opening = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'svc-'));
    opening.defer(() => rm(folder, { recursive: true }));
    const status: NodeStatus = {
      id: randomUUID(),
      backends: { v1: { available: false, reason: 'not here' }, v2: { available: true } },
      images: [{ template: 'svc-base', state: 'building', progress: 0.419, step: 'packages' }],
      slots: { total: 4, used: 0 },
    };
    const destroyed: string[] = [];
    const node = createServer((request, response) => {
      request.resume();
      if (request.method === 'PUT') {
        answer(response);
        return;
      }
      if (request.method === 'DELETE') destroyed.push(request.url ?? '');
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ...status, accepted: true, sandboxes: [] }));
    });
    const socket = join(folder, 'node.sock');
    await once(node.listen(socket), 'listening');
    opening.defer(() => {
      node.closeAllConnections();
      node.close();
    });
    const t = opening.use(await openTest({ settings: { SVC_SANDBOXD_SOCKET: socket } }));
    const stack = opening.move();
    return { t, destroyed, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test('says how far the image is', async () => {
    const error = { code: 'sandbox_capacity', message: 'image svc-base is being built: 41 % (packages)' };
    await using opened = await openBuilding((response) => {
      response.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    });
    const { gateway, account } = opened.t;
    const { status, body } = await http(gateway.url, '/v1/sandboxes', { key: account.key, body: {} });
    assert.deepEqual([status, body.error.details], [503, { image: { template: 'svc-base', percent: 41 } }]);
  });

  test('makes nothing for a caller who went away meanwhile, and keeps no place for it', async () => {
    const asked = Promise.withResolvers<ServerResponse>();
    await using opened = await openBuilding(asked.resolve);
    const { gateway, account } = opened.t;
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
    const call = request(`${gateway.url}/v1/sandboxes`, { method: 'POST', headers, agent: false });
    const closed = new Promise((resolve) => call.once('close', resolve));
    call.on('error', () => {}).end('{}');
    const answer = await asked.promise;
    call.destroy();
    const made = { restored: false, image_digest: `sha256:${'0'.repeat(64)}` };
    // A call that begins after the end of the other one is answered after the gateway saw that end.
    await closed;
    await http(gateway.url, '/health');
    answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(made));
    await until(() => opened.destroyed.length > 0);
    const { body } = await http(gateway.url, '/v1/sandboxes?status=running', { key: account.key });
    assert.deepEqual(body.data, []);
  });
});
