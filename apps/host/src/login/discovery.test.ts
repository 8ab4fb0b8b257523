import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fakePlatform } from '../testing.sign-in.ts';
import { discover, isAddress } from './discovery.ts';
import { ask } from './request.ts';

const resource = 'GET /.well-known/oauth-protected-resource';
const server = 'GET /.well-known/oauth-authorization-server/auth';

test('a platform says where people sign in, and by which addresses', async (context) => {
  const { url } = await fakePlatform(context);
  assert.deepEqual(await discover(url), {
    url,
    resource: url,
    issuer: `${url}/auth`,
    namesIssuer: true,
    authorize: `${url}/auth/authorize`,
    token: `${url}/auth/token`,
    device: `${url}/auth/device/authorize`,
  });
});

test('a platform that calls itself otherwise is signed in to by that address, if that says the same', async (context) => {
  const [front, own, other] = [await fakePlatform(context), await fakePlatform(context), await fakePlatform(context)];
  front.says[resource] = [200, { resource: `${own.url}/`, authorization_servers: [`${front.url}/auth`] }];
  own.says[resource] = [200, { resource: `${own.url}/`, authorization_servers: [`${own.url}/auth`] }];
  const found = await discover(front.url);
  assert.deepEqual([found.url, found.resource, found.issuer], [own.url, `${own.url}/`, `${own.url}/auth`]);
  own.says[resource] = [200, { resource: other.url, authorization_servers: [`${other.url}/auth`] }];
  await assert.rejects(discover(front.url), { message: /says that it is .+, which says that it is / });
});

test('a provider that is another one, or leads out of https, is refused', async (context) => {
  const { url, says } = await fakePlatform(context);
  says[server] = [200, { issuer: 'https://other.example' }];
  await assert.rejects(discover(url), { message: /says that it is somebody else/ });
  says[server] = [200, { issuer: `${url}/auth`, authorization_endpoint: 'javascript:alert(1)' }];
  await assert.rejects(discover(url), { message: /names no authorization_endpoint/ });
  says[server] = [404, {}];
  await assert.rejects(discover(url), { message: /does not say how \(HTTP 404\)/ });
  says[resource] = [404, {}];
  await assert.rejects(discover(url), { message: /is no svc platform, or one of before svc login/ });
});

test('only what a browser may be shown is an address', () => {
  assert.ok(isAddress('https://a.example/x?y=1'));
  for (const value of ['javascript:alert(1)', 'file:///x', 'https://u:p@a.example', 'https://a b', 7, undefined, ''])
    assert.ok(!isAddress(value), String(value));
});

test('nothing follows a redirect, and an answer has an end', async (context) => {
  let calls = 0;
  const leading = createServer((request, response) => {
    calls += 1;
    if (request.url === '/long') response.end(Buffer.alloc(1024 * 1024, 97));
    else response.writeHead(307, { location: 'https://other.example/path' }).end();
  }).listen(0, '127.0.0.1');
  context.after(() => leading.close());
  await once(leading, 'listening');
  const url = `http://127.0.0.1:${(leading.address() as AddressInfo).port}`;
  await assert.rejects(ask(url), {
    message: /leads to another address https:\/\/other\.example: give the platform's own/,
  });
  await assert.rejects(ask(`${url}/long`), { message: /answered more than this program reads/ });
  assert.equal(calls, 2);
  await assert.rejects(ask('http://127.0.0.1:1/'), {
    name: 'Unreachable',
    message: /127\.0\.0\.1:1 cannot be reached: /,
  });
});
