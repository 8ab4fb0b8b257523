import assert from 'node:assert/strict';
import { request } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { Platform } from './discovery.ts';
import { openLoopback, readAnswer } from './loopback.ts';

const issuer = 'https://a.example/auth';
const platform: Platform = {
  url: 'https://a.example',
  resource: 'https://a.example',
  issuer,
  namesIssuer: true,
  authorize: `${issuer}/authorize`,
  token: `${issuer}/token`,
  device: undefined,
};

test('an answer counts that has the state and the issuer of this sign-in', () => {
  const read = (query: string, namesIssuer = true) =>
    readAnswer(new URLSearchParams(query), { issuer, namesIssuer, state: 's1' });
  const iss = `iss=${encodeURIComponent(issuer)}`;
  assert.deepEqual(read(`code=c&state=s1&${iss}`), { code: 'c' });
  assert.deepEqual(read('code=c&state=s1', false), { code: 'c' });
  for (const query of ['', 'code=c', `code=c&state=s2&${iss}`, `code=c&state=s1&state=s1&${iss}`, `state=s1&${iss}`])
    assert.equal(read(query), 'strange', query);
  for (const query of ['code=c&state=s1', 'code=c&state=s1&iss=https://b.example', `code=c&state=s1&${iss}&${iss}`])
    assert.match((read(query) as { fault: string }).fault, /another identity provider/, query);
  // A provider that does not promise it may still say it, and then truly.
  assert.ok('fault' in (read('code=c&state=s1&iss=https://b.example', false) as object));
  assert.match((read(`error=access_denied&state=s1&${iss}`) as { fault: string }).fault, /not allowed in the browser/);
  assert.match(
    (read(`error=server_error&error_description=later&state=s1&${iss}`) as { fault: string }).fault,
    /the platform refused: server_error: later/,
  );
});

async function open(context: TestContext) {
  const loopback = await openLoopback(platform, 's1');
  context.after(() => loopback.close());
  const call = (path: string, options: { method?: string; host?: string } = {}) =>
    new Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
      const { port } = new URL(loopback.redirectUri);
      const { method = 'GET', host = `127.0.0.1:${port}` } = options;
      request({ host: '127.0.0.1', port, path, method, headers: { host } }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
      })
        .on('error', reject)
        .end();
    });
  return { ...loopback, call };
}

test('the listener answers one page and nothing else, and only the right state ends the wait', async (context) => {
  const { redirectUri, code, call } = await open(context);
  assert.match(redirectUri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  const query = `?code=c1&state=s1&iss=${encodeURIComponent(issuer)}`;
  const refused: [string, object, number][] = [
    ['/', {}, 404],
    ['/favicon.ico', {}, 404],
    [`/callback/x${query}`, {}, 404],
    [`/callback${query}`, { method: 'POST' }, 404],
    [`/callback${query}`, { host: 'evil.example' }, 404],
    ['/callback?code=c0&state=guess', {}, 400],
  ];
  for (const [path, options, status] of refused) {
    const { status: answered, body } = await call(path, options);
    assert.deepEqual([answered, body], [status, ''], path);
  }
  const page = await call(`/callback${query}`);
  assert.equal(page.status, 200);
  assert.match(page.body, /You can close this window/);
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'/);
  assert.doesNotMatch(page.body, /<script|<form|c1|s1/);
  assert.equal(await code, 'c1');
});

test('a refusal in the browser shows the same page and ends the wait', async (context) => {
  const { code, call } = await open(context);
  const page = await call(`/callback?error=access_denied&state=s1&iss=${encodeURIComponent(issuer)}`);
  assert.match(page.body, /You can close this window/);
  await assert.rejects(code, { message: /not allowed in the browser/ });
});
