import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { after, before, describe, test } from 'node:test';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { trustCertificate } from '../../testing.tls.ts';
import { http } from '../../testing.ts';
import { freePort, openPlatform, type Platform, type PlayedBrowser, person } from '../auth/auth.testing.ts';

const callback = 'https://assistant.example.test/callback';

/** The memory of an assistant that signs in by the SDK's own flow; the test opens what it would have opened. */
class Assistant implements OAuthClientProvider {
  readonly redirectUrl = callback;
  readonly clientMetadata = {
    client_name: 'Assistant',
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  readonly clientMetadataUrl?: string;
  readonly opened: URL[] = [];
  #client: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>;
  #tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  #verifier = '';
  #discovered: ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>;

  constructor(clientMetadataUrl?: string) {
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
  }
  state = () => 'state-of-the-assistant';
  clientInformation = () => this.#client;
  saveClientInformation: NonNullable<OAuthClientProvider['saveClientInformation']> = (given) => {
    this.#client = given;
  };
  tokens = () => this.#tokens;
  saveTokens: OAuthClientProvider['saveTokens'] = (given) => {
    this.#tokens = given;
  };
  redirectToAuthorization = (url: URL) => void this.opened.push(url);
  saveCodeVerifier = (text: string) => {
    this.#verifier = text;
  };
  codeVerifier = () => this.#verifier;
  discoveryState = () => this.#discovered;
  saveDiscoveryState: NonNullable<OAuthClientProvider['saveDiscoveryState']> = (given) => {
    this.#discovered = given;
  };
}

interface Message {
  status: number;
  challenge: string;
  // Answers have many shapes.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

describe('the Model Context Protocol with access tokens', () => {
  let t: Platform;
  let base = '';
  let documentPort = 0;
  let who: Awaited<ReturnType<typeof person>>;
  before(async () => {
    documentPort = await freePort();
    t = await openPlatform((port) => ({
      SVC_BASE_URL: `http://localhost:${port}`,
      SVC_FETCH_PORTS: `443,${documentPort}`,
      // The document of a client lies on this machine.
      SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
    }));
    base = `http://localhost:${t.port}`;
    who = await person(t, `${base}/auth`);
  });
  after(() => t?.[Symbol.asyncDispose]());

  const clientOf = async (assistant: Assistant, mode: 'legacy' | 'auto') => {
    const client = new Client({ name: 'assistant', version: '1' }, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), {
      authProvider: assistant,
      onInsufficientScope: 'throw',
    });
    return { client, transport };
  };

  /** The assistant is refused, a person lets it in, and it connects. */
  const connect = async (
    assistant: Assistant,
    browser: PlayedBrowser,
    { mode = 'auto', isTicked }: { mode?: 'legacy' | 'auto'; isTicked?: (scope: string) => boolean } = {},
  ) => {
    const first = await clientOf(assistant, mode);
    await assert.rejects(first.client.connect(first.transport), (error) => error instanceof UnauthorizedError);
    const url = assistant.opened.at(-1) as URL;
    const { answer, asked } = await browser.letIn(url.href, callback, isTicked);
    assert.equal(answer.searchParams.get('state'), 'state-of-the-assistant');
    await first.transport.finishAuth(answer.searchParams);
    const { client, transport } = await clientOf(assistant, mode);
    await client.connect(transport);
    const { access_token: token = '' } = assistant.tokens() ?? {};
    return { client, url, asked, token, [Symbol.asyncDispose]: () => client.close() };
  };

  const send = async (token: string | undefined, method: string, params: object = {}): Promise<Message> => {
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' };
    const answer = await http(base, '/mcp', { body, headers, ...(token !== undefined && { key: token }) });
    const data = typeof answer.body === 'string' ? /^data: (\{.*)$/m.exec(answer.body)?.[1] : undefined;
    return {
      status: answer.status,
      challenge: answer.headers.get('www-authenticate') ?? '',
      body: data === undefined ? answer.body : JSON.parse(data),
    };
  };
  const callTool = (token: string, name: string, input: object = {}) =>
    send(token, 'tools/call', { name, arguments: input });

  for (const mode of ['auto', 'legacy'] as const) {
    test(`the SDK's client goes from a refusal to a tool's answer by itself (${mode})`, async () => {
      const refused = await send(undefined, 'tools/list');
      assert.equal(refused.status, 401);
      const metadata = `${base}/.well-known/oauth-protected-resource/mcp`;
      assert.equal(refused.challenge, `Bearer resource_metadata="${metadata}"`);
      const revoked = await send('svc_at_revoked', 'tools/list');
      assert.equal(revoked.challenge, `Bearer error="invalid_token", resource_metadata="${metadata}"`);
      const { body: document } = await http(metadata, '');
      assert.deepEqual([document.resource, document.authorization_servers], [`${base}/mcp`, [`${base}/auth`]]);

      const assistant = new Assistant();
      await using connected = await connect(assistant, who.browser, { mode });
      const { client, url, asked } = connected;
      assert.equal(url.searchParams.get('resource'), `${base}/mcp`);
      assert.equal(url.searchParams.get('code_challenge_method'), 'S256');
      assert.deepEqual(new Set(asked), new Set(document.scopes_supported));
      const names = (await client.listTools()).tools.map(({ name }) => name);
      assert.ok(names.includes('prompts_list') && names.includes('sandbox_create'), names.join());
      // What was said in meetings is read with a key alone.
      assert.deepEqual(
        names.filter((name) => name.includes('transcript')),
        [],
      );
      const answer = await client.callTool({ name: 'prompts_list', arguments: {} });
      assert.ok(answer.isError !== true, JSON.stringify(answer));
    });
  }

  test('a client that is known by its metadata document is let in, and shown by its host', async () => {
    using certificate = trustCertificate();
    let asked = 0;
    const server = createServer({ key: certificate.key, cert: certificate.cert }, (_request, response) => {
      asked += 1;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    });
    await once(server.listen(documentPort, '127.0.0.1'), 'listening');
    const clientId = `https://127.0.0.1:${documentPort}/assistant.json`;
    const document = { client_id: clientId, ...new Assistant().clientMetadata };
    try {
      const assistant = new Assistant(clientId);
      await using connected = await connect(assistant, who.browser);
      assert.equal(connected.url.searchParams.get('client_id'), clientId);
      assert.ok(asked > 0);
      assert.ok((await connected.client.listTools()).tools.length > 0);
      const { body } = await http(base, '/v1/connections', { key: who.key });
      const known = body.connections.find((one: { client_id: string }) => one.client_id === clientId);
      assert.deepEqual([known.name, known.trust], ['Assistant', 'document']);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test('a token is for one resource: /mcp refuses that of the API, and the API that of /mcp', async () => {
    await using connected = await connect(new Assistant(), who.browser);
    for (const [method, path] of [
      ['GET', '/v1/keys'],
      ['POST', '/v1/keys/connect'],
      ['GET', '/v1/prompts'],
      ['GET', '/v1/connections'],
    ] as const) {
      const { status } = await http(base, path, { method, key: connected.token });
      assert.equal(status, 401, path);
    }
    const token = await tokenForApi();
    assert.equal((await http(base, '/v1/keys/connect', { key: token, body: {} })).status, 201);
    const { status, challenge } = await send(token, 'tools/list');
    assert.deepEqual([status, challenge.startsWith('Bearer error="invalid_token", resource_metadata="')], [401, true]);
  });

  /** What an app is given that asks for the API in place of the tools. */
  const tokenForApi = async (): Promise<string> => {
    const { body: app } = await http(base, '/auth/register', {
      body: { redirect_uris: [callback], client_name: 'App' },
    });
    const verifier = 'v'.repeat(64);
    const digest = await crypto.subtle.digest('SHA-256', Buffer.from(verifier));
    const query = new URLSearchParams({
      client_id: app.client_id,
      response_type: 'code',
      redirect_uri: callback,
      scope: 'openid prompts:read',
      resource: base,
      code_challenge: Buffer.from(digest).toString('base64url'),
      code_challenge_method: 'S256',
    });
    const { answer } = await who.browser.letIn(`${base}/auth/authorize?${query.toString()}`, callback);
    const form = {
      grant_type: 'authorization_code',
      client_id: app.client_id,
      code: answer.searchParams.get('code') ?? '',
      code_verifier: verifier,
      redirect_uri: callback,
      resource: base,
    };
    const exchanged = await fetch(`${base}/auth/token`, { method: 'POST', body: new URLSearchParams(form) });
    const { access_token: token } = (await exchanged.json()) as { access_token: string };
    assert.equal(exchanged.status, 200);
    return token;
  };

  test('a tool whose scope was not given answers 403 with the scope to ask for, and runs once it was', async () => {
    const assistant = new Assistant();
    const isTicked = (scope: string) => scope === 'mcp' || scope === 'prompts:read';
    await using connected = await connect(assistant, who.browser, { isTicked });
    const { token } = connected;
    assert.equal((await callTool(token, 'prompts_list')).status, 200);
    const { status, challenge, body } = await callTool(token, 'environments_list');
    assert.equal(status, 403);
    const [, scope = ''] =
      /^Bearer error="insufficient_scope", scope="([^"]+)", resource_metadata="[^"]+"$/.exec(challenge) ?? [];
    assert.ok(scope.split(' ').includes('environments:read'), challenge);
    assert.equal(body.error.code, 'forbidden');

    // The client asks for more by itself; the person ticks it this time.
    const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: assistant });
    const client = new Client({ name: 'assistant', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(transport);
    await assert.rejects(client.callTool({ name: 'environments_list', arguments: {} }));
    const again = assistant.opened.at(-1) as URL;
    assert.ok(again.searchParams.get('scope')?.split(' ').includes('environments:read'), again.href);
    const { answer } = await who.browser.letIn(again.href, callback);
    await transport.finishAuth(answer.searchParams);
    const called = await client.callTool({ name: 'environments_list', arguments: {} });
    assert.ok(called.isError !== true, JSON.stringify(called));
    await client.close();
  });

  test('tools of transcripts refuse every token', async () => {
    await using connected = await connect(new Assistant(), who.browser);
    for (const name of ['list_transcripts', 'search_transcripts', 'ask_transcripts', 'transcript_share_create']) {
      const { status, body } = await callTool(connected.token, name, { q: 'x', question: 'x', id: who.id });
      assert.equal(status, 200);
      assert.equal(body.result.isError, true, JSON.stringify(body));
      assert.equal(JSON.parse(body.result.content[0].text).code, 'forbidden');
    }
  });

  test('disconnected, the next call is refused, and its refresh token gives nothing', async () => {
    const assistant = new Assistant();
    await using connected = await connect(assistant, who.browser);
    const { token } = connected;
    assert.equal((await callTool(token, 'prompts_list')).status, 200);
    const { client_id: clientId } = assistant.clientInformation() as { client_id: string };
    const { body } = await http(base, '/v1/connections', { key: who.key });
    const { id } = body.connections.find((one: { client_id: string }) => one.client_id === clientId);
    assert.equal((await http(base, `/v1/connections/${id}`, { method: 'DELETE', key: who.key })).status, 200);
    assert.equal((await callTool(token, 'prompts_list')).status, 401);
    const form = {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: assistant.tokens()?.refresh_token ?? '',
    };
    assert.notEqual(form.refresh_token, '');
    const answer = await fetch(`${base}/auth/token`, { method: 'POST', body: new URLSearchParams(form) });
    assert.deepEqual([answer.status, ((await answer.json()) as { error: string }).error], [400, 'invalid_grant']);
  });
});
