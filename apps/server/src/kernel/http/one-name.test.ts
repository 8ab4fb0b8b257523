import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { loadConfig } from '../../config.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { OneName } from './one-name.ts';

const page = { accept: 'text/html,application/xhtml+xml' };
const insteadOf = (settings: Record<string, string>, url: string, headers: object, method = 'GET', encrypted = false) =>
  new OneName(loadConfig({}, settings)).insteadOf({
    method,
    url,
    headers: { host: '127.0.0.1:8787', ...headers },
    socket: { encrypted },
  });

test('a browser that opens a page at a number of this machine is sent to localhost, with path, query and port', () => {
  for (const path of ['/', '/docs', '/hub/', '/hub/alerts?all=1', '/auth/authorize?state=x', '/auth/device'])
    assert.equal(insteadOf({}, path, page), `http://localhost:8787${path}`);
  assert.equal(insteadOf({}, '/hub/', { ...page, host: '[::1]:9000' }), 'http://localhost:9000/hub/');
  assert.equal(insteadOf({}, '/hub/', { ...page, 'sec-fetch-dest': 'document' }, 'HEAD'), 'http://localhost:8787/hub/');
  assert.equal(insteadOf({}, '/', page, 'GET', true), 'https://localhost:8787/');
  // The scheme of the port that was asked, whatever the address of the installation has.
  assert.equal(insteadOf({ SVC_BASE_URL: 'https://localhost' }, '/', page), 'http://localhost:8787/');
});

test('programs, calls of the API, parts of an open page and other names are answered where they asked', () => {
  for (const headers of [
    {},
    { accept: '*/*' },
    { ...page, 'sec-fetch-dest': 'iframe' },
    { ...page, host: 'localhost:8787' },
    // Of a proxy that asks by number.
    { ...page, 'x-forwarded-for': '192.0.2.7' },
    { ...page, 'x-forwarded-host': 'svc.example.com' },
    { ...page, 'x-forwarded-proto': 'https' },
    { ...page, forwarded: 'for=192.0.2.7' },
  ])
    assert.equal(insteadOf({}, '/hub/', headers), undefined, JSON.stringify(headers));
  for (const path of ['/v1/keys', '/ping/x', '/hubble', '/mcp', '/authority/', '//hub/'])
    assert.equal(insteadOf({}, path, page), undefined, path);
  assert.equal(insteadOf({}, '/auth/token', page, 'POST'), undefined);
  for (const url of ['http://127.0.0.1:8787', 'https://svc.example.com'])
    assert.equal(insteadOf({ SVC_BASE_URL: url }, '/hub/', page), undefined, url);
});

test('on a default installation pages are at localhost, the API at every spelling, and an alert leads to its page', async () => {
  await using t = await openTest();
  const { url, kernel } = t.gateway;
  assert.equal(new URL(kernel.config.baseUrl).hostname, 'localhost');
  const answer = await fetch(`${url}/hub/alerts`, { headers: page, redirect: 'manual' });
  assert.deepEqual(
    [answer.status, answer.headers.get('location'), answer.headers.get('cache-control')],
    [302, `${url.replace('127.0.0.1', 'localhost')}/hub/alerts`, 'no-store'],
  );
  const { key } = await createAccount(t.gateway);
  assert.equal((await http(url, '/v1/keys', { key })).status, 200);
  const made = await http(url, '/v1/heartbeats', { key, body: { name: 'backup', period_s: 60 } });
  const failed = await http(url, `${new URL(made.body.ping_url).pathname}/1`, { method: 'POST' });
  assert.equal(failed.status, 200);
  const { notifications } = (await http(url, '/v1/notifications', { key })).body;
  const open = notifications[0].actions.find(({ id }: { id: string }) => id === 'open');
  // A path, not an address: the page makes its link of it, at whatever name it was opened.
  assert.equal(open.path, `/heartbeats/${made.body.id}`);
  assert.equal(new URL(notifications[0].web_url).pathname, `/hub/heartbeats/${made.body.id}`);
});

test('metadata names the address at which it was asked, so clients that compare it go on at every spelling', async () => {
  await using t = await openTest();
  const { port } = new URL(t.gateway.url);
  const base = new URL(t.gateway.kernel.config.baseUrl);
  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    const answer = Promise.withResolvers<string>();
    const headers = { host: `${host}:${base.port}` };
    request({ host: '127.0.0.1', port, path: '/.well-known/oauth-protected-resource/mcp', headers }, (response) => {
      let text = '';
      response.on('data', (part: Buffer) => (text += part.toString()));
      response.on('end', () => answer.resolve(text));
    }).end();
    const { resource } = JSON.parse(await answer.promise) as { resource: string };
    assert.equal(resource, `http://${host}:${base.port}/mcp`);
  }
});
