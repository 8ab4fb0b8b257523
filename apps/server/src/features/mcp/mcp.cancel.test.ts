import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { http, startGateway, until } from '../../testing.ts';
import { type Json, nodeOfTests, openSandboxes } from '../sandboxes/sandboxes.testing.ts';
import { connectMcp } from './mcp.testing.ts';

const shell = 'touch began; sleep 600';
const code = 'import time; open("began", "w"); time.sleep(600)';

describe('a request of the protocol that is given up', () => {
  const t = shared(() => openSandboxes());

  const hasBegun = ({ id }: Json) =>
    until(async () => (await t.call('GET', `/v1/sandboxes/${id}/files/began`)).status === 200, 60_000);
  /** Waits until nothing runs in the sandbox. */
  const isFree = ({ id }: Json) =>
    until(async () => {
      const { status, body } = await t.call('POST', `/v1/sandboxes/${id}/exec`, {
        shell: 'cat /proc/[0-9]*/comm | grep -cx sleep; true',
      });
      return status === 200 && body.stdout === '0\n';
    }, 60_000);

  for (const mode of ['legacy', 'auto'] as const) {
    for (const [tool, input] of [
      ['sandbox_exec', { shell, timeout_seconds: 900 }],
      ['sandbox_run_code', { code, timeout_seconds: 900 }],
    ] as const) {
      test(`${tool} ends in its sandbox when a client of the ${mode === 'legacy' ? 'revision of 2025' : 'newest revision'} cancels it`, async () => {
        const box = await t.create({ backend: 'v1' });
        await using mcp = await connectMcp(t.gateway, t.account.key, mode);
        const abort = new AbortController();
        const ran = mcp.call(tool, { sandbox_id: box.id, ...input }, abort);
        const refused = assert.rejects(ran);
        await hasBegun(box);
        abort.abort();
        await Promise.all([refused, isFree(box)]);
        await t.clear();
      });
    }
  }

  test('a request ends when its notification reaches another gateway; one of another session or key ends nothing', async () => {
    await using second = await startGateway(t.database, { settings: { SVC_SANDBOXD_SOCKET: nodeOfTests() } });
    const box = await t.create({ backend: 'v1' });
    const other = await t.fresh();
    const send = (url: string, body: object, session?: string, key = t.account.key) =>
      http(url, '/mcp', {
        key,
        body: { jsonrpc: '2.0', ...body },
        headers: {
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-11-25',
          ...(session !== undefined && { 'mcp-session-id': session }),
        },
      });
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const { headers } = await send(t.gateway.url, { id: 0, method: 'initialize', params });
    const session = headers.get('mcp-session-id') ?? '';
    assert.match(session, /^[0-9a-f-]{36}$/);
    const sandbox = { sandbox_id: box.id, shell, timeout_seconds: 900 };
    const call = { id: 7, method: 'tools/call', params: { name: 'sandbox_exec', arguments: sandbox } };
    let ended = false;
    const ran = send(t.gateway.url, call, session).then(
      () => (ended = true),
      () => (ended = true),
    );
    await hasBegun(box);
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 7 } };
    for (const { url } of [t.gateway, second]) {
      assert.equal((await send(url, cancelled, randomUUID())).status, 202);
      assert.equal((await send(url, cancelled)).status, 202);
      assert.equal((await send(url, cancelled, session, other.account.key)).status, 202);
    }
    const busy = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'true' });
    assert.deepEqual([busy.status, busy.body.error.code, ended], [409, 'sandbox_busy', false]);
    assert.equal((await send(second.url, cancelled, session)).status, 202);
    await Promise.all([ran, isFree(box)]);
    await t.clear();
  });
});
