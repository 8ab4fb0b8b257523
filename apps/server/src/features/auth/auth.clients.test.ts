import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { createServer as createTlsServer, request as tlsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { wordsOf } from '@svc/words';
import * as openid from 'openid-client';
import { trustCertificate } from '../../testing.tls.ts';
import { asOwner, http } from '../../testing.ts';
import { openPlatform, type Platform, PlayedBrowser, password, person } from './auth.testing.ts';

const callback = 'https://app.example.test/callback';

/** An app that speaks OAuth and knows nothing of this product, and the browser of a person who lets it in. */
class App {
  readonly config: openid.Configuration;
  readonly browser: PlayedBrowser;
  readonly redirectUri: string;

  constructor(config: openid.Configuration, browser: PlayedBrowser, redirectUri = callback) {
    this.config = config;
    this.browser = browser;
    this.redirectUri = redirectUri;
  }

  async begin(parameters: Record<string, string> = {}) {
    const verifier = openid.randomPKCECodeVerifier();
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    const url = openid.buildAuthorizationUrl(this.config, {
      redirect_uri: this.redirectUri,
      scope: 'openid email',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      ...parameters,
    });
    return { url, verifier, state, nonce };
  }

  /** Opens an address of the provider; allows what a page asks, and answers where the browser is sent in the end. */
  async letIn(url: string): Promise<URL> {
    return (await this.browser.letIn(url, this.redirectUri)).answer;
  }

  /** A person lets the app in, up to the code. */
  async code(parameters: Record<string, string> = {}) {
    const begun = await this.begin(parameters);
    return { ...begun, answer: await this.letIn(begun.url.href) };
  }

  exchange({ answer, verifier, state, nonce }: Awaited<ReturnType<App['code']>>) {
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
    return openid.authorizationCodeGrant(this.config, answer, checks);
  }

  async tokens(parameters: Record<string, string> = {}) {
    return this.exchange(await this.code(parameters));
  }
}

/** The code of an error that the provider answered to a client. */
const codeOf = async (answer: Promise<unknown>): Promise<string> => {
  try {
    await answer;
    return 'none';
  } catch (error) {
    const { error: code, cause } = error as { error?: string; cause?: unknown };
    return code ?? (Array.isArray(cause) ? String(cause[0]?.parameters?.error) : String(error));
  }
};

/** Registers an app by RFC 7591, after discovery. */
async function register(
  authUrl: string,
  {
    fetching,
    browser = new PlayedBrowser(fetching),
    algorithm = 'oidc',
    metadata = {},
  }: {
    fetching?: typeof fetch;
    browser?: PlayedBrowser;
    algorithm?: 'oidc' | 'oauth2';
    metadata?: Record<string, unknown>;
  } = {},
): Promise<App> {
  const redirectUris = (metadata['redirect_uris'] as string[] | undefined) ?? [callback];
  const config = await openid.dynamicClientRegistration(
    new URL(authUrl),
    {
      client_name: 'Field Notes',
      redirect_uris: redirectUris,
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256',
      ...metadata,
    },
    openid.None(),
    {
      algorithm,
      execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
      ...(fetching && { [openid.customFetch]: fetching as openid.CustomFetch }),
    },
  );
  return new App(config, browser, redirectUris[0]);
}

const userinfo = (app: App, token: string) => openid.fetchUserInfo(app.config, token, openid.skipSubjectCheck);

/** Every address in a document, however deep. */
const addressesIn = (text: string): string[] => text.match(/https?:\/\/[^"'\s<>&]+/g) ?? [];

/** Sends one request with headers that `fetch` does not let its caller set. */
async function bare(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  const sent = httpRequest({ host: '127.0.0.1', port, path, method, headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [
    NodeJS.ReadableStream & { statusCode: number; headers: IncomingHttpHeaders },
  ];
  return { status: answer.statusCode, headers: answer.headers, body: (await buffer(answer)).toString() };
}

/** A proxy that ends TLS, and asks the gateway under the gateway's own name, as many do unless they are told otherwise. */
async function openTlsProxy(target: number) {
  const certificate = trustCertificate();
  const server = createTlsServer(certificate, (incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const forwarded = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', 'x-forwarded-port': '81' };
    const to = httpRequest({
      host: '127.0.0.1',
      port: target,
      path: url,
      method,
      headers: { ...headers, host: `127.0.0.1:${target}`, ...forwarded },
    });
    to.on('response', (answer) => answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers)));
    to.on('error', () => outgoing.destroy());
    incoming.pipe(to);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const asked = new Set<string>();
  /** Any host name leads to the proxy. */
  const fetching = (async (input: string | URL, init: RequestInit = {}) => {
    const url = new URL(input);
    asked.add(url.origin);
    const headers = Object.fromEntries(new Headers(init.headers));
    const path = url.pathname + url.search;
    const sent = tlsRequest({
      host: '127.0.0.1',
      port,
      path,
      method: init.method ?? 'GET',
      headers: { ...headers, host: url.host },
      // The certificate is of the address, and the name that of the test.
      checkServerIdentity: () => undefined,
    });
    const body = init.body == null ? undefined : String(init.body as string | URLSearchParams);
    if (body !== undefined && init.body instanceof URLSearchParams && headers['content-type'] === undefined)
      sent.setHeader('content-type', 'application/x-www-form-urlencoded');
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [
      NodeJS.ReadableStream & { statusCode: number; rawHeaders: string[] },
    ];
    const kept = new Headers();
    for (let at = 0; at < answer.rawHeaders.length; at += 2)
      kept.append(answer.rawHeaders[at] as string, answer.rawHeaders[at + 1] as string);
    const bytes = await buffer(answer);
    const isEmpty = [204, 304].includes(answer.statusCode);
    return new Response(isEmpty ? null : new Uint8Array(bytes), { status: answer.statusCode, headers: kept });
  }) as typeof fetch;
  return {
    fetching,
    asked,
    close() {
      certificate[Symbol.dispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** From discovery to sign-out, as any app would go. */
async function wholeWay(t: Platform, authUrl: string, fetching?: typeof fetch): Promise<void> {
  const { hubUrl } = t.gateway.kernel.config;
  const browser = new PlayedBrowser(fetching);
  const who = await person(t, authUrl, browser);
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    const app = await register(authUrl, { browser, algorithm, ...(fetching && { fetching }) });
    const server = app.config.serverMetadata();
    assert.equal(server.issuer, authUrl);
    const foreign = addressesIn(JSON.stringify(server)).filter(
      (url) => url !== authUrl && !url.startsWith(`${authUrl}/`),
    );
    assert.deepEqual(foreign, []);

    const code = await app.code();
    assert.equal(code.answer.searchParams.get('iss'), authUrl);
    assert.equal(code.answer.searchParams.get('state'), code.state);
    const first = await app.exchange(code);
    assert.deepEqual([first.claims()?.sub, first.claims()?.iss], [who.id, authUrl]);
    const known = await userinfo(app, first.access_token);
    assert.deepEqual([known.sub, known.email], [who.id, who.email]);
    const second = await openid.refreshTokenGrant(app.config, first.refresh_token ?? '');
    assert.ok(second.refresh_token !== undefined && second.refresh_token !== first.refresh_token);
    assert.equal((await userinfo(app, second.access_token)).sub, who.id);
    await openid.tokenRevocation(app.config, second.refresh_token);
    assert.equal(await codeOf(openid.refreshTokenGrant(app.config, second.refresh_token)), 'invalid_grant');
    assert.equal(await codeOf(userinfo(app, second.access_token)), 'invalid_token');

    const hint = { id_token_hint: first.id_token ?? '', state: 'gone' };
    const asked = await browser.follow(openid.buildEndSessionUrl(app.config, hint).href);
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(asked.body) ?? [];
    assert.ok(xsrf !== '', asked.body);
    const out = await browser.follow(await browser.send(`${authUrl}/logout/confirm`, { xsrf, logout: 'yes' }));
    assert.ok(out.status === 200 && out.body.includes(wordsOf('en').signOut.doneTitle), out.body);
    const silent = await app.begin({ prompt: 'none' });
    const answer = await app.letIn(silent.url.href);
    assert.equal(answer.searchParams.get('error'), 'login_required');

    // In again, at the hub this time: it exchanges its code in the process, whatever stands in between.
    const signIn = await browser.follow(`${hubUrl}/login/start`);
    assert.match(signIn.url, /\/sign-in\//);
    const end = await browser.follow(await browser.send(signIn.url, { email: who.email, password }));
    assert.deepEqual(
      [end.url, end.status, browser.cookies.has('__Host-svc_login')],
      [`${hubUrl}/`, 200, true],
      end.body,
    );
  }
}

describe('an independent client of the identity provider', () => {
  let t: Platform;
  let authUrl = '';
  let app: App;
  let who: Awaited<ReturnType<typeof person>>;
  before(async () => {
    t = await openPlatform();
    authUrl = `http://localhost:${t.port}/auth`;
    who = await person(t, authUrl);
    app = await register(authUrl, { browser: who.browser });
  });
  after(() => t?.[Symbol.asyncDispose]());

  test('goes the whole way by both documents of discovery, at an address with a path', async () => {
    await wholeWay(t, authUrl);
  });

  test('goes the whole way at an address without a path, which is that of the API', async () => {
    await using own = await openPlatform((port) => ({
      SVC_BASE_URL: `http://localhost:${port}`,
      SVC_AUTH_URL: `http://localhost:${port}`,
    }));
    await wholeWay(own, `http://localhost:${own.port}`);
    const { status } = await http(own.gateway.url, '/v1/keys', { key: own.account.key });
    assert.equal(status, 200);
  });

  test('goes the whole way at a host of its own behind a proxy that ends TLS and sends its own Host', async () => {
    const name = 'https://login.example.test';
    await using own = await openPlatform(() => ({ SVC_BASE_URL: 'https://api.example.test', SVC_AUTH_URL: name }));
    const proxy = await openTlsProxy(own.port);
    try {
      await wholeWay(own, name, proxy.fetching);
      assert.deepEqual(proxy.asked, new Set([name, 'https://api.example.test']));
      const { headers } = await proxy.fetching(`${name}/.well-known/openid-configuration`);
      assert.match(headers.get('strict-transport-security') ?? '', /^max-age=\d{7,}/);
    } finally {
      proxy.close();
    }
  });

  test('a forged host poisons no document, page or redirect', async () => {
    const { url } = await app.begin();
    const paths = [
      '/auth/.well-known/openid-configuration',
      '/auth/.well-known/oauth-authorization-server',
      '/.well-known/oauth-authorization-server/auth',
      '/.well-known/openid-configuration/auth',
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
      '/auth/jwks',
      '/auth/setup',
      '/auth/device',
      '/auth/logout',
      '/auth/nothing',
      '/hub/',
      '/hub/login/start',
      url.pathname + url.search,
    ];
    const forged: Record<string, string>[] = [
      { host: 'evil.example' },
      { host: `localhost:${t.port}`, 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
      { host: 'evil.example:1', forwarded: 'host=evil.example;proto=https', 'x-forwarded-port': '444' },
      { host: `localhost:${t.port}@evil.example` },
    ];
    for (const headers of forged) {
      for (const path of paths) {
        const answer = await bare(t.port, path, { headers: { ...headers, accept: 'text/html, application/json' } });
        const said = `${answer.body} ${JSON.stringify(answer.headers)}`;
        assert.ok(!/evil|https:\/\/localhost/.test(said), `${path} ${JSON.stringify(headers)} ${said}`);
      }
    }
    const whole = await bare(t.port, 'http://evil.example/auth/.well-known/openid-configuration');
    assert.ok(!whole.body.includes('evil'), whole.body);
  });

  /** Makes what an account used older: the database's clock counts. */
  const age = ({ id }: { id: string }, seconds: number) =>
    asOwner(
      t.database,
      (sql) => sql`
        update auth.records set consumed_at = consumed_at - make_interval(secs => ${seconds}),
          answer_until = answer_until - make_interval(secs => ${seconds})
        where account_id = ${id} and consumed_at is not null`,
    );

  test('a refresh token used twice gives the same tokens; used after the grace it ends all of them', async () => {
    const first = await app.tokens();
    const refresh = (of: { refresh_token?: string }) => openid.refreshTokenGrant(app.config, of.refresh_token ?? '');
    const second = await refresh(first);
    assert.deepEqual({ ...(await refresh(first)) }, { ...second });
    await userinfo(app, second.access_token);
    await age(who, 120);
    assert.equal(await codeOf(refresh(first)), 'invalid_grant');
    assert.equal(await codeOf(refresh(second)), 'invalid_grant');
    for (const { access_token: token } of [first, second])
      assert.equal(await codeOf(userinfo(app, token)), 'invalid_token');
  });

  test('a code used twice gives nothing more; used again later it ends what it gave', async () => {
    const code = await app.code();
    const first = await app.exchange(code);
    assert.equal(await codeOf(app.exchange(code)), 'invalid_grant');
    await userinfo(app, first.access_token);
    await age(who, 10);
    assert.equal(await codeOf(app.exchange(code)), 'invalid_grant');
    assert.equal(await codeOf(userinfo(app, first.access_token)), 'invalid_token');
    assert.equal(await codeOf(openid.refreshTokenGrant(app.config, first.refresh_token ?? '')), 'invalid_grant');

    const other = await app.code();
    const both = await Promise.allSettled([app.exchange(other), app.exchange(other)]);
    const won = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    assert.equal(won.length, 1);
    for (const { access_token: token } of won) await userinfo(app, token);
  });

  test('a code is good for 60 seconds, for the verifier of its challenge, its redirect and its client', async () => {
    const late = await app.code();
    // The database's clock counts: the code is made older, not the time later.
    const [row] = await asOwner(
      t.database,
      (sql) => sql<{ life: number }[]>`
        update auth.records set expires_at = now()
        where model = 'AuthorizationCode' and account_id = ${who.id} and consumed_at is null
        returning extract(epoch from old.expires_at - created_at)::float8 as life`,
    );
    assert.ok(row && row.life > 50 && row.life <= 61, String(row?.life));
    assert.equal(await codeOf(app.exchange(late)), 'invalid_grant');

    const stolen = await app.code();
    const verifier = openid.randomPKCECodeVerifier();
    assert.equal(await codeOf(app.exchange({ ...stolen, verifier })), 'invalid_grant');

    const other = await register(authUrl, { browser: who.browser });
    const mine = await app.code();
    assert.equal(await codeOf(other.exchange(mine)), 'invalid_grant');

    const { answer, verifier: own } = await app.code();
    const form = (redirect: string): [string, string][] => [
      ['grant_type', 'authorization_code'],
      ['client_id', app.config.clientMetadata().client_id],
      ['code', answer.searchParams.get('code') ?? ''],
      ['code_verifier', own],
      ['redirect_uri', redirect],
    ];
    const shown = await fetch(`${authUrl}/token`, { method: 'POST', body: new URLSearchParams(form(`${callback}/`)) });
    assert.deepEqual([shown.status, ((await shown.json()) as { error: string }).error], [400, 'invalid_grant']);
  });

  test('an authorization without PKCE, with plain, or unsure of itself goes back with error, state and issuer', async () => {
    const faults: [Record<string, string>, string][] = [
      [{ code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: 'code id_token' }, 'unsupported_response_type'],
      [{ scope: 'openid', resource: 'https://other.example' }, 'invalid_target'],
      [{ prompt: 'none', scope: 'openid heartbeats:read', resource: `http://localhost:${t.port}` }, 'consent_required'],
    ];
    for (const [parameters, error] of faults) {
      const { url, state } = await app.begin(parameters);
      for (const name of Object.keys(parameters).filter((one) => parameters[one] === '')) url.searchParams.delete(name);
      const answer = await app.letIn(url.href);
      const told = answer.searchParams.size > 0 ? answer.searchParams : new URLSearchParams(answer.hash.slice(1));
      const said = Object.fromEntries(told);
      assert.deepEqual(
        [said['error'], said['state'], said['iss'], said['code']],
        [error, state, authUrl, undefined],
        JSON.stringify(parameters),
      );
    }
    // A browser that nobody is signed in with.
    const strange = new App(app.config, new PlayedBrowser());
    const { url, state } = await strange.begin({ prompt: 'none' });
    const { error, state: back, iss } = Object.fromEntries((await strange.letIn(url.href)).searchParams);
    assert.deepEqual([error, back, iss], ['login_required', state, authUrl]);
    // A person who says no.
    const asked = await app.begin();
    const page = await app.browser.follow(asked.url.href);
    const no = await app.browser.follow(await app.browser.send(page.url, { decision: 'deny' }), (to) =>
      to.startsWith(callback),
    );
    const refusal = Object.fromEntries(new URL(no.to ?? '').searchParams);
    assert.deepEqual([refusal['error'], refusal['iss'], refusal['state']], ['access_denied', authUrl, asked.state]);
  });

  test('a redirect that differs in a slash, a port, a scheme or a host leads nowhere: a page says so', async () => {
    const others = [
      `${callback}/`,
      'https://app.example.test:444/callback',
      'http://app.example.test/callback',
      'https://app.example.test.evil.example/callback',
      `${callback}?more=1`,
      `${callback}#x`,
      'https://app.example.test/CALLBACK',
    ];
    for (const redirect of others) {
      const { url } = await app.begin({ redirect_uri: redirect });
      const shown = await app.browser.open(url.href);
      assert.deepEqual([shown.status, shown.to], [400, undefined], redirect);
      assert.match(shown.headers.get('content-type') ?? '', /^text\/html/);
      const json = await app.browser.open(url.href, { headers: { accept: 'application/json' } });
      const said = JSON.parse(json.body) as { error: string; error_description: string };
      assert.ok(json.status === 400 && said.error.startsWith('invalid') && said.error_description !== '', json.body);
    }
  });

  test('a native app comes back to any port of this machine, and to no other host', async () => {
    const metadata = { application_type: 'native', redirect_uris: ['http://127.0.0.1/back', 'http://[::1]/back'] };
    const native = await register(authUrl, { browser: who.browser, metadata });
    for (const redirect of ['http://127.0.0.1:52001/back', 'http://[::1]:52002/back']) {
      const own = new App(native.config, who.browser, redirect);
      const code = await own.code();
      assert.ok(code.answer.href.startsWith(redirect));
      assert.equal((await own.exchange(code)).claims()?.sub, who.id);
    }
    for (const redirect of [
      'http://127.0.0.1:52001/other',
      'http://127.0.0.2:52001/back',
      'https://127.0.0.1:52001/back',
    ]) {
      const { url } = await native.begin({ redirect_uri: redirect });
      const { status, to } = await who.browser.open(url.href);
      assert.deepEqual([status, to], [400, undefined], redirect);
    }
  });

  test('an editor registers addresses of three kinds as a client with a secret, is public, and is answered at each', async () => {
    const uris = [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ];
    await using own = await openPlatform();
    const url = `http://localhost:${own.port}/auth`;
    const { browser, id } = await person(own, url);
    const metadata = { redirect_uris: uris, token_endpoint_auth_method: 'client_secret_basic' };
    const editor = await register(url, { browser, metadata });
    assert.equal(editor.config.clientMetadata()['token_endpoint_auth_method'], 'none');
    assert.equal(editor.config.clientMetadata().client_secret, undefined);
    const shown: string[] = [];
    for (const uri of uris) {
      // The port of a program is another one each time.
      const at = new App(editor.config, browser, uri.replace(':8787', ':50123'));
      const page = await browser.follow((await at.begin()).url.href);
      shown.push(/<p class="fact">([^\n]*)<\/p>/.exec(page.body)?.[1] ?? page.body);
      assert.equal((await at.tokens()).claims()?.sub, id);
    }
    const { consent } = wordsOf('en');
    assert.deepEqual(shown, [
      `${consent.goesTo} ${consent.opens} <strong><bdi>cursor://</bdi></strong>`,
      `${consent.goesTo} <strong><bdi>www.cursor.com</bdi></strong>`,
      `${consent.goesTo} <strong>${consent.here}</strong>`,
    ]);
  });

  test('a code of a device that is typed in another browser lets the device in, once, and guesses do not', async () => {
    const config = await openid.discovery(new URL(authUrl), 'svc-cli', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
    });
    const resource = `http://localhost:${t.port}`;
    const started = await openid.initiateDeviceAuthorization(config, { scope: 'openid heartbeats:read', resource });
    assert.match(started.user_code, /^[B-Z]{4}-[B-Z]{4}$/);
    assert.equal(started.verification_uri, `${authUrl}/device`);
    const poll = () =>
      openid.genericGrantRequest(config, 'urn:ietf:params:oauth:grant-type:device_code', {
        device_code: started.device_code,
      });
    assert.equal(await codeOf(poll()), 'authorization_pending');
    const { browser } = who;
    const xsrfOf = ({ body }: { body: string }) => /name="xsrf" value="([^"]+)"/.exec(body)?.[1] ?? '';
    // The address alone does nothing: the code is filled in, and waits for the person.
    const page = await browser.open(started.verification_uri_complete ?? '');
    assert.ok(page.body.includes(started.user_code) && !/submit\(\)/.test(page.body));
    const wrong = await browser.send(`${authUrl}/device`, { xsrf: xsrfOf(page), user_code: 'BBBB-BBBB' });
    assert.ok(wrong.body.includes('name="user_code"'), wrong.body);
    const forged = await browser.send(`${authUrl}/device`, { user_code: started.user_code, confirm: 'yes' });
    assert.equal(await codeOf(poll()), 'authorization_pending', forged.body);
    const asked = await browser.open(`${authUrl}/device`);
    const confirm = await browser.send(`${authUrl}/device`, { xsrf: xsrfOf(asked), user_code: started.user_code });
    const fields = { xsrf: xsrfOf(confirm), user_code: started.user_code, confirm: 'yes' };
    let shown = await browser.follow(await browser.send(`${authUrl}/device`, fields));
    if (/\/consent\//.test(shown.url))
      shown = await browser.follow(await browser.send(shown.url, { scope: 'heartbeats:read', decision: 'allow' }));
    assert.ok(shown.body.includes(wordsOf('en').device.doneTitle), `${shown.url} ${shown.body}`);
    const tokens = await poll();
    assert.equal(tokens.scope, 'heartbeats:read');
    const connected = await http(resource, '/v1/keys/connect', { key: tokens.access_token, body: { name: 'Laptop' } });
    assert.deepEqual([connected.status, connected.body.scopes], [201, ['heartbeats:read']]);
    assert.equal((await poll()).access_token, tokens.access_token, 'the answer may have been lost');
    await age(who, 120);
    assert.equal(await codeOf(poll()), 'invalid_grant');
    assert.equal((await http(resource, '/v1/keys/connect', { key: tokens.access_token, body: {} })).status, 401);
  });

  test('a page of any origin may ask whom to ask for a token', async () => {
    const headers = { origin: 'https://app.example.test', 'access-control-request-headers': 'mcp-protocol-version' };
    for (const path of ['', '/mcp']) {
      const url = `${new URL(authUrl).origin}/.well-known/oauth-protected-resource${path}`;
      const { status, headers: said } = await fetch(url, { method: 'OPTIONS', headers });
      assert.deepEqual([status, said.get('access-control-allow-origin')], [204, '*']);
      assert.equal(said.get('access-control-allow-headers'), '*');
    }
  });

  test('an app that asks for nothing gets nothing, and is no connection', async () => {
    const { browser, ...account } = await person(t, authUrl);
    const { body } = await http(authUrl, '/register', { body: { redirect_uris: [callback] } });
    const query = new URLSearchParams({
      client_id: body.client_id,
      response_type: 'code',
      redirect_uri: callback,
      state: 'state',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const { to = '' } = await browser.follow(`${authUrl}/authorize?${query.toString()}`, (url) =>
      url.startsWith(callback),
    );
    // Without a page where the person is signed in already, after one where they were not.
    assert.match(new URL(to).searchParams.get('error') ?? '', /^(access_denied|invalid_scope)$/);
    const rows = await t.gateway.kernel.sql`
      select from connections.connections where account_id = ${account.id}`;
    assert.equal(rows.length, 0);
  });

  test('registration takes public apps with safe redirects only', async () => {
    const faults: Record<string, unknown>[] = [
      { redirect_uris: ['http://app.example.test/callback'] },
      { redirect_uris: ['https://app.example.test/#x'] },
      { redirect_uris: ['javascript:alert(1)'], application_type: 'native' },
      { redirect_uris: ['http://app.example.test/callback'], application_type: 'native' },
      { redirect_uris: [] },
      { redirect_uris: 'https://app.example.test' },
      { redirect_uris: [callback, 'zed://oauth', 'view-source:https://app.example.test/'] },
    ];
    for (const metadata of faults) {
      const { status, body } = await http(authUrl, '/register', {
        body: { client_name: 'x', token_endpoint_auth_method: 'none', ...metadata },
      });
      assert.equal(status, 400, `${JSON.stringify(metadata)} ${JSON.stringify(body)}`);
      assert.match(body.error, /^invalid_/);
      assert.equal(typeof body.error_description, 'string');
    }
    const named = { client_name: ' Bank\u202e\u200b\n of\tsvc ', redirect_uris: [callback] };
    const { client_id: id } = (await http(authUrl, '/register', { body: named })).body;
    const query = new URLSearchParams({
      client_id: id,
      response_type: 'code',
      redirect_uri: callback,
      scope: 'openid',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const shown = await new PlayedBrowser().follow(`${authUrl}/authorize?${query.toString()}`);
    assert.match(shown.body, /Bank of svc/, 'a name is shown without signs that are not seen');
    const greedy = {
      redirect_uris: [callback],
      grant_types: ['password', 'client_credentials', 'implicit'],
      response_types: ['token', 'code'],
      scope: '* keys hosts',
      require_auth_time: false,
    };
    const { status, body } = await http(authUrl, '/register', { body: greedy });
    assert.equal(status, 201);
    assert.deepEqual(
      [body.grant_types, body.response_types, body.token_endpoint_auth_method, body.scope],
      [['authorization_code', 'refresh_token'], ['code'], 'none', undefined],
    );
  });

  test('a network registers 30 apps an hour that nobody lets in; those that somebody let in do not count for it', async () => {
    const body = { redirect_uris: [callback] };
    const { sql } = t.gateway.kernel;
    const ownOnes = sql`model = 'Client' and created_at > now() - interval '1 hour'`;
    const register = async (): Promise<number> => (await http(authUrl, '/register', { body })).status;
    // What was let in is kept for longer, see keepClient.
    await sql`update auth.records set expires_at = now() + interval '30 days' where ${ownOnes}`;
    for (let n = 0; n < 30; n += 1) assert.equal(await register(), 201, `${n}`);
    assert.equal(await register(), 429);
    await sql`update auth.records set expires_at = now() + interval '30 days' where ${ownOnes}`;
    assert.equal(await register(), 201);
    // However many came to something, they are bounded too.
    await sql`insert into auth.records (model, id_hash, payload, address, created_at, expires_at)
      select model, decode(md5(n::text), 'hex'), payload, address, created_at, expires_at
      from (select * from auth.records where ${ownOnes} limit 1) r, generate_series(1, 120) n`;
    await sql`update auth.records set expires_at = now() + interval '30 days' where ${ownOnes}`;
    assert.equal(await register(), 429);
    await sql`update auth.records set created_at = now() - interval '2 hours' where ${ownOnes}`;
    assert.equal(await register(), 201);
  });

  test('below its address everything that fails is an error with a description: JSON, or a page for browsers', async () => {
    const wrong: [string, string, number][] = [
      ['GET', '/nothing', 404],
      ['POST', '/nothing', 404],
      ['DELETE', '/authorize', 404],
      ['GET', '/token', 404],
      ['PUT', '/jwks', 404],
      ['PATCH', '/setup', 404],
      ['GET', '/authorize/unknown-interaction', 400],
      ['GET', '/.well-known/nothing', 404],
      ['GET', '/authorize', 400],
      ['GET', '/device/x', 400],
      ['POST', '/device', 400],
      ['POST', '/token', 400],
      ['GET', '/..%2fv1/keys', 404],
      ['GET', '/sign-in/', 404],
    ];
    for (const [method, path, status] of wrong) {
      for (const accept of ['application/json', '*/*', 'text/html']) {
        const answer = await fetch(authUrl + path, { method, headers: { accept }, redirect: 'manual' });
        const text = await answer.text();
        const about = `${method} ${path} ${accept}: ${answer.status} ${text.slice(0, 300)}`;
        assert.equal(answer.status, status, about);
        const type = answer.headers.get('content-type') ?? '';
        if (accept === 'text/html') {
          assert.match(type, /^text\/html/, about);
          assert.ok(!/https?:\/\/(?!localhost)/.test(text.replaceAll('http://www.w3.org/2000/svg', '')), about);
          continue;
        }
        assert.match(type, /^application\/json/, about);
        const said = JSON.parse(text) as Record<string, unknown>;
        assert.deepEqual(Object.keys(said), ['error', 'error_description'], about);
        assert.ok(typeof said['error'] === 'string' && typeof said['error_description'] === 'string', about);
      }
    }
  });

  test('a body of 1 MiB is refused at every route, with a length or without, and the server goes on', async () => {
    const paths = [
      '/auth/token',
      '/auth/revoke',
      '/auth/register',
      '/auth/authorize',
      '/auth/userinfo',
      '/auth/device',
      '/auth/device/authorize',
      '/auth/logout',
      '/auth/logout/confirm',
      '/auth/setup',
      '/auth/link',
      '/auth/recover',
      '/auth/passkeys/options',
      '/auth/passkeys/new',
      '/auth/sign-in/abcdefghijklmnop',
      '/auth/consent/abcdefghijklmnop',
      '/auth/nothing',
      '/hub/',
      '/hub/login/start',
      '/hub/login',
      '/hub/callback',
    ];
    const body = `a=${'x'.repeat(1_048_576)}`;
    for (const path of paths) {
      for (const type of ['application/x-www-form-urlencoded', 'application/json']) {
        for (const isChunked of [false, true]) {
          const headers = {
            'content-type': type,
            'sec-fetch-site': 'same-origin',
            host: `localhost:${t.port}`,
            ...(isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) }),
          };
          const { status } = await bare(t.port, path, { method: 'POST', headers, body });
          assert.ok(status >= 400 && status < 500, `${path} ${type} ${isChunked}: ${status}`);
        }
      }
    }
    assert.equal((await http(t.gateway.url, '/health')).status, 200);
    assert.equal((await app.tokens()).claims()?.sub, who.id);
  });
});
