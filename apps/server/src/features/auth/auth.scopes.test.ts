import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { wordsOf } from '@svc/words';
import { http } from '../../testing.ts';
import { openPlatform, person, type Platform } from './auth.testing.ts';

interface Tokens {
  access_token: string;
  refresh_token: string;
  scope?: string;
  error?: string;
}

describe('an app that asks for every scope that it read of', () => {
  let t: Platform;
  let base = '';
  before(async () => {
    t = await openPlatform();
    base = `http://localhost:${t.port}`;
  });
  after(() => t[Symbol.asyncDispose]());
  const redirectUri = 'http://127.0.0.1:4711/callback';
  const openId = ['openid', 'email', 'profile', 'offline_access'];

  const read = async (path: string) => (await (await fetch(base + path)).json()) as { scopes_supported: string[] };

  /** An app that registered itself, and a person. */
  async function begin() {
    const { browser } = await person(t, `${base}/auth`);
    const body = {
      client_name: 'Editor',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
    };
    const { client_id: client } = (await http(base, '/auth/register', { method: 'POST', body })).body as {
      client_id: string;
    };
    const verifier = randomBytes(32).toString('base64url');
    const address = (scopes: readonly string[], resource: string) => {
      const query = new URLSearchParams({
        client_id: client,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: scopes.join(' '),
        resource,
        state: 'state',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      });
      return `${base}/auth/authorize?${query.toString()}`;
    };
    const take = async (fields: Record<string, string>) => {
      const form = new URLSearchParams({ client_id: client, ...fields });
      return (await (await fetch(`${base}/auth/token`, { method: 'POST', body: form })).json()) as Tokens;
    };
    const tokensFor = async (scopes: readonly string[], resource: string, isTicked?: (scope: string) => boolean) => {
      const { answer } = await browser.letIn(address(scopes, resource), redirectUri, isTicked);
      const code = answer.searchParams.get('code') ?? '';
      const given = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: verifier, code };
      return take(given);
    };
    const refresh = ({ refresh_token: text }: Tokens, scope: string) =>
      take({ grant_type: 'refresh_token', refresh_token: text, scope });
    return { browser, address, tokensFor, refresh };
  }

  const toolsSaid = async (key: string) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const headers = { accept: 'application/json, text/event-stream' };
    return (await http(base, '/mcp', { method: 'POST', key, body, headers })).status;
  };

  test('of the metadata of sign-in or of the API gets those of the tools, and the tools answer it', async () => {
    const { tokensFor } = await begin();
    const { scopes_supported: ofSignIn } = await read('/auth/.well-known/oauth-authorization-server');
    const { scopes_supported: ofApi } = await read('/.well-known/oauth-protected-resource');
    const { scopes_supported: ofTools } = await read('/.well-known/oauth-protected-resource/mcp');
    for (const scopes of [ofSignIn, [...ofApi, ...ofSignIn], ['usage'], []]) {
      const { access_token: token, scope = '' } = await tokensFor(scopes, `${base}/mcp`);
      for (const one of ofTools) assert.ok(scope.split(' ').includes(one), `${scopes.join(' ')}: ${scope}`);
      assert.equal(await toolsSaid(token), 200);
    }
  });

  test('and refreshes with all of them has what the person gave, and with none of these is refused', async () => {
    const { tokensFor, refresh } = await begin();
    const { scopes_supported: ofApi } = await read('/.well-known/oauth-protected-resource');
    const all = [...ofApi, ...openId, 'hosts', 'no-such-scope'];
    const given = await tokensFor(all, base, (scope) => scope === 'usage' || scope === 'prompts');
    assert.equal(given.scope, 'usage prompts');
    const again = await refresh(given, all.join(' '));
    assert.equal(again.scope, 'usage prompts', JSON.stringify(again));
    const less = await refresh(again, 'usage hosts');
    assert.equal(less.scope, 'usage');
    assert.equal((await refresh(less, 'hosts')).error, 'invalid_scope');
  });

  test('is shown with what it is not given', async () => {
    const { browser, address } = await begin();
    const { leftOut } = wordsOf('en').consent;
    const page = async (scopes: readonly string[], resource = base) =>
      (await browser.follow(address(scopes, resource))).body;
    const more = await page(['usage', 'hosts', 'environments:terminal', 'no-such-scope']);
    const [, list = ''] = new RegExp(`<summary>${leftOut}</summary>([^]*?)</details>`).exec(more) ?? [];
    assert.equal(list.match(/<li>/g)?.length, 2, more);
    assert.match(list, /Open terminals on the machines of your environments/);
    assert.match(await page(['mcp', 'usage'], `${base}/mcp`), new RegExp(leftOut));
    assert.doesNotMatch(await page(['usage', 'prompts']), new RegExp(leftOut));
  });
});
