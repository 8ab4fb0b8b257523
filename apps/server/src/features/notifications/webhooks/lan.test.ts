import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { http, openTest } from '../../../testing.ts';

test('a topic of an ntfy on the same network hears of alerts without TLS once the operator names its host, and only then', async () => {
  const heard: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      heard.push(JSON.parse(body));
      response.end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const body = { name: 'phone', url: `http://127.0.0.1:${port}/alerts`, format: 'ntfy' };
  const webhooks = '/v1/notifications/webhooks';
  try {
    const settings = { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: `443,${port}` };
    await using named = await openTest({ settings });
    const { key } = named.account;
    const made = await http(named.gateway.url, webhooks, { key, body });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const tried = await http(named.gateway.url, `${webhooks}/${made.body.id}/test`, { method: 'POST', key });
    assert.equal(tried.body.ok, true, JSON.stringify(tried.body));
    assert.equal(heard[0]?.['topic'], 'alerts');
    for (const url of ['http://127.0.0.2/alerts', 'http://example.com/alerts', 'http://127.0.0.1:9/alerts'])
      assert.equal((await http(named.gateway.url, webhooks, { key, body: { ...body, url } })).status, 400, url);
    await using plain = await openTest({ settings: { SVC_FETCH_PORTS: `443,${port}` } });
    const refused = await http(plain.gateway.url, webhooks, { key: plain.account.key, body });
    assert.equal(refused.status, 400);
    assert.match(refused.body.error.message, /name is found.*SVC_FETCH_ALLOW_HOSTS/);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
