import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { http, openTest } from '../../testing.ts';
import { connectMcp } from './mcp.testing.ts';

describe('what a client of the protocol can make the gateway do', () => {
  const t = shared(() => openTest());
  const headers = { accept: 'application/json, text/event-stream' };
  const send = (body: unknown, more: object = {}) =>
    http(t.gateway.url, '/mcp', { key: t.account.key, body, headers: { ...headers, ...more } });
  const list = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list', params: {} });

  test('a list of more than 10 messages is refused before any of them is looked at', async () => {
    const ten = await send(Array.from({ length: 10 }, (_, id) => list(id)));
    assert.equal(ten.status, 200);
    const eleven = await send(Array.from({ length: 11 }, (_, id) => list(id)));
    assert.deepEqual([eleven.status, eleven.body.error.code], [400, 'bad_request']);
    assert.match(eleven.body.error.message, /10 messages at most/);
  });

  test('nothing can be subscribed to: a stream that listens ends at once, however many were opened before', async () => {
    const revision = '2026-07-28';
    const meta = {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const params = { notifications: { toolsListChanged: true }, _meta: meta };
    const more = { 'mcp-protocol-version': revision, 'mcp-method': 'subscriptions/listen' };
    // More than the 1,024 that the protocol's library keeps open.
    for (let sent = 0; sent < 1_100; sent += 50) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          send({ jsonrpc: '2.0', id: sent + n, method: 'subscriptions/listen', params }, more),
        ),
      );
      for (const { status, body } of answers) {
        assert.equal(status, 200, JSON.stringify(body));
        assert.match(body, /"resultType":"complete"/);
      }
    }
  });

  test('an argument that is wrong is named in the tool’s answer', async () => {
    await using mcp = await connectMcp(t.gateway, t.account.key);
    const faulty = await mcp.call('prompts_list', { limit: 'many' });
    assert.match(faulty.text, /bad_request.*limit/);
  });
});
