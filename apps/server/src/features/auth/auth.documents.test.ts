import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { wordsOf } from '@svc/words';
import { type TrustedCertificate, trustCertificate } from '../../testing.tls.ts';
import { http } from '../../testing.ts';
import { freePort, openPlatform, type Platform, PlayedBrowser, person } from './auth.testing.ts';

const callback = 'https://app.example.test/callback';

describe('apps that nobody vouches for', () => {
  let strict: Platform;
  let allowing: Platform;
  let server: Server;
  let certificate: TrustedCertificate;
  let at = '';
  const asked: string[] = [];
  const documentOf = (path: string, more: object = {}) => ({
    client_id: at + path,
    client_name: 'App',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
    ...more,
  });
  const documents: Readonly<Record<string, (path: string) => [number, Record<string, string>, string]>> = {
    '/good.json': (path) => [200, {}, JSON.stringify(documentOf(path))],
    '/moved.json': () => [302, { location: `${at}/good.json` }, ''],
    '/huge.json': (path) => [200, {}, JSON.stringify(documentOf(path, { more: 'x'.repeat(1_048_576) }))],
    '/other.json': () => [200, {}, JSON.stringify(documentOf('/good.json'))],
    '/page.json': () => [200, { 'content-type': 'text/html' }, '<!doctype html>'],
    // Its first bytes come, and no more.
    '/slow.json': () => [200, { 'content-length': '100' }, '{'],
    '/gone.json': () => [404, {}, '{}'],
    '/list.json': () => [200, {}, '[]'],
    '/secret.json': (path) => [
      200,
      {},
      JSON.stringify(documentOf(path, { token_endpoint_auth_method: 'client_secret_basic', client_secret: 'x' })),
    ],
    '/plain.json': (path) => [
      200,
      {},
      JSON.stringify(documentOf(path, { redirect_uris: ['http://app.example.test/callback'] })),
    ],
    '/script.json': (path) => [
      200,
      {},
      JSON.stringify(documentOf(path, { redirect_uris: ['javascript:alert(1)'], application_type: 'native' })),
    ],
    '/grants.json': (path) => [
      200,
      {},
      JSON.stringify(documentOf(path, { grant_types: ['client_credentials', 'implicit'], response_types: ['token'] })),
    ],
  };

  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ofKeys = {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' }] },
  };

  /** A document whose answers go to the person's machine or to a scheme, as editors publish it. */
  const ofEditor = { redirect_uris: ['http://localhost/callback', 'http://127.0.0.1:33418/', 'zed://oauth'] };
  before(async () => {
    certificate = trustCertificate();
    const port = await freePort();
    at = `https://127.0.0.1:${port}`;
    server = createServer({ key: certificate.key, cert: certificate.cert }, ({ url = '' }, response) => {
      asked.push(url);
      const more = { '/editor.json': ofEditor, '/keys.json': ofKeys }[url];
      const own = more && JSON.stringify(documentOf(url, more));
      const [status, headers, body] = own ? [200, {}, own] : (documents[url]?.(url) ?? [404, {}, '']);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      if (headers['content-length'] === undefined) response.end(body);
      else response.write(body);
    });
    await once(server.listen(port, '127.0.0.1'), 'listening');
    const settings = (own: number) => ({ SVC_BASE_URL: `http://localhost:${own}`, SVC_FETCH_PORTS: `443,${port}` });
    strict = await openPlatform(settings);
    allowing = await openPlatform((own) => ({ ...settings(own), SVC_FETCH_ALLOW_HOSTS: '127.0.0.1' }));
  });
  after(async () => {
    await strict?.[Symbol.asyncDispose]();
    await allowing?.[Symbol.asyncDispose]();
    server?.closeAllConnections();
    server?.close();
    certificate?.[Symbol.dispose]();
  });

  /** What a browser is shown whose app has this name. */
  const authorize = (platform: Platform, clientId: string, redirect = callback) => {
    const query = new URLSearchParams({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: redirect,
      scope: 'openid',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    return new PlayedBrowser().open(`http://localhost:${platform.port}/auth/authorize?${query.toString()}`);
  };

  test('a document at an address of this machine, or of a private network, is not fetched', async () => {
    const { port } = new URL(at);
    for (const id of [
      `${at}/good.json`,
      `https://localhost:${port}/good.json`,
      `https://[::1]:${port}/good.json`,
      `https://[::ffff:127.0.0.1]:${port}/good.json`,
      `https://2130706433:${port}/good.json`,
      'https://10.0.0.1/good.json',
      'https://169.254.169.254/latest/meta-data',
      `http://127.0.0.1:${port}/good.json`,
    ]) {
      const { status, to } = await authorize(strict, id);
      assert.deepEqual([status, to], [400, undefined], id);
    }
    assert.deepEqual(asked, []);
  });

  test('a document that leads elsewhere, is too long or too slow, of another app, or asks for more than is given counts for nothing', async () => {
    const good = await authorize(allowing, `${at}/good.json`);
    assert.deepEqual([good.status, /\/sign-in\//.test(good.to ?? '')], [303, true], good.body);
    assert.deepEqual(asked.splice(0), ['/good.json']);
    for (const path of Object.keys(documents).filter((one) => one !== '/good.json')) {
      const redirect =
        path === '/plain.json'
          ? 'http://app.example.test/callback'
          : path === '/script.json'
            ? 'javascript:alert(1)'
            : callback;
      const { status, to } = await authorize(allowing, at + path, redirect);
      assert.deepEqual([status, to], [400, undefined], path);
      assert.deepEqual(new Set(asked.splice(0)), new Set([path]));
    }
  });

  test('a document may name a scheme and this machine, with any port; the person sees who asks and where the answer goes', async () => {
    const base = `http://localhost:${allowing.port}`;
    const { browser } = await person(allowing, `${base}/auth`);
    const seen = async (redirect: string) => {
      const query = new URLSearchParams({
        client_id: `${at}/editor.json`,
        response_type: 'code',
        redirect_uri: redirect,
        scope: 'openid usage:read',
        resource: base,
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 'S256',
      });
      const { body } = await browser.follow(`${base}/auth/authorize?${query.toString()}`);
      return [...body.matchAll(/<p class="(?:trust|fact)">.*?<strong>(.*?)<\/strong><\/p>/g)].map(([, place]) => place);
    };
    const asks = `<bdi>${new URL(at).host}</bdi>`;
    const { here } = wordsOf('en').consent;
    assert.deepEqual(await seen('http://localhost:52001/callback'), [asks, here]);
    assert.deepEqual(await seen('http://127.0.0.1:52002/'), [asks, here]);
    assert.deepEqual(await seen('zed://oauth'), [asks, '<bdi>zed://</bdi>']);
    assert.deepEqual(await seen('zed://other'), []);
  });

  test('the 31st app that a network registers within an hour is refused, with how long to wait', async () => {
    const register = () =>
      http(`http://localhost:${strict.port}`, '/auth/register', { body: { redirect_uris: [callback] } });
    const made = await Promise.all(Array.from({ length: 50 }, () => register()));
    assert.equal(made.filter((one) => one.status === 201).length, 30, 'fifty at once');
    const { status, body, headers } = await register();
    assert.deepEqual([status, body.error, typeof body.error_description], [429, 'rate_limited', 'string']);
    assert.equal(headers.get('retry-after'), '3600');
  });

  test('a document with keys is believed by a signature of them that ends within ten minutes, once', async () => {
    const id = `${at}/keys.json`;
    const issuer = `http://localhost:${allowing.port}/auth`;
    const part = (of: object) => Buffer.from(JSON.stringify(of)).toString('base64url');
    const proofOf = (seconds: number, by = keys.privateKey) => {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: id, sub: id, aud: issuer, jti: randomUUID(), iat: now, exp: now + seconds };
      const text = `${part({ alg: 'ES256', kid: 'one' })}.${part(claims)}`;
      const signature = sign('sha256', Buffer.from(text), { key: by, dsaEncoding: 'ieee-p1363' });
      return `${text}.${signature.toString('base64url')}`;
    };
    const ask = async (proof?: string) => {
      const form = { grant_type: 'refresh_token', refresh_token: 'none', client_id: id };
      const shown = proof && {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: proof,
      };
      const body = new URLSearchParams({ ...form, ...shown });
      return ((await (await fetch(`${issuer}/token`, { method: 'POST', body })).json()) as { error: string }).error;
    };
    const good = proofOf(300);
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    // Who is believed learns that the token is none.
    assert.deepEqual(
      [await ask(good), await ask(good), await ask(proofOf(86_400)), await ask(proofOf(300, stranger)), await ask()],
      ['invalid_grant', 'invalid_client', 'invalid_client', 'invalid_client', 'invalid_client'],
    );
  });
});
