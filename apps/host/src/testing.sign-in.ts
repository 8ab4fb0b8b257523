import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { answer } from './testing.gateway.ts';

/** An answer of the fake platform, as status and body. */
type Said = [status: number, body: object];

/** A platform as `svc login` sees it: two documents, three endpoints, its keys. Each part may be told to answer otherwise. */
interface FakePlatform {
  readonly url: string;
  /** Requests so far: method, path, the form or JSON, and headers. */
  readonly calls: { line: string; body: string; headers: IncomingMessage['headers'] }[];
  /** By `METHOD /path`; what is not here answers as a platform does. */
  readonly says: Record<string, Said | (() => Said)>;
  /** Keys that it made, the newest last. */
  readonly keys: string[];
}

/** Starts a platform that stops when the test ends. */
export async function fakePlatform(test: TestContext): Promise<FakePlatform> {
  const calls: FakePlatform['calls'] = [];
  const says: FakePlatform['says'] = {};
  const keys: string[] = [];
  const usual = (line: string, headers: IncomingMessage['headers']): Said => {
    const isKey = keys.includes((headers.authorization ?? '').replace('Bearer ', ''));
    if (line === 'GET /.well-known/oauth-protected-resource')
      return [200, { resource: url, authorization_servers: [`${url}/auth`] }];
    if (line === 'GET /.well-known/oauth-authorization-server/auth') return [200, metadataOf(url)];
    if (line === 'POST /auth/device/authorize') return [200, deviceCodeOf(url)];
    if (line === 'POST /auth/token') return [200, { access_token: 'svc_at_EXAMPLE', token_type: 'Bearer' }];
    if (line === 'POST /v1/keys/connect' && headers.authorization === 'Bearer svc_at_EXAMPLE') {
      const key = `svc_${randomUUID().replaceAll('-', '')}abcdef`;
      keys.push(key);
      return [201, { id: randomUUID(), key, scopes: ['sessions'] }];
    }
    if (!isKey) return [401, { error: { code: 'invalid_api_key', message: 'no such key' } }];
    if (line === 'GET /v1/me') {
      const account = { id: 'acc-1', email: 'ana@example.test', name: 'Ana\u001b[2J' };
      return [200, { account, actor: { kind: 'key', id: 'k', scopes: ['sessions'], tool_level: 'l0' } }];
    }
    if (line.startsWith('DELETE /v1/keys/')) return [200, { deleted: true }];
    return [404, { error: { code: 'not_found', message: 'not here' } }];
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url: path = '', headers } = request;
      const line = `${method} ${path}`;
      calls.push({ line, body, headers });
      const told = says[line] ?? says[line.replace(/[0-9a-f-]{36}$/, 'ID')];
      const [status, said] = typeof told === 'function' ? told() : (told ?? usual(line, headers));
      answer(response, status, said);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url, calls, says, keys };
}

const metadataOf = (url: string) => ({
  issuer: `${url}/auth`,
  authorization_endpoint: `${url}/auth/authorize`,
  token_endpoint: `${url}/auth/token`,
  device_authorization_endpoint: `${url}/auth/device/authorize`,
  authorization_response_iss_parameter_supported: true,
});

const deviceCodeOf = (url: string) => ({
  device_code: 'EXAMPLE',
  user_code: 'BCDF-GHJK',
  verification_uri: `${url}/auth/device`,
  verification_uri_complete: `${url}/auth/device?user_code=BCDF-GHJK`,
  expires_in: 600,
  // A test waits for nothing.
  interval: 0.001,
});
