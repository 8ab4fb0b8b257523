import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  contract,
  type Reach,
  reachOf,
  type Route,
  type Scope,
  scopeNames,
  scopesOf,
  scopesOfApps,
  scopesOfPerson,
} from '@svc/contract';
import type { Actor } from './kernel/base/actor.ts';
import { ApiError } from './kernel/base/errors.ts';
import { checkAccess } from './kernel/mount/access.ts';
import { letIn } from './features/connections/connections.testing.ts';
import { openPlatform, person, type Platform, tokenOf } from './features/auth/auth.testing.ts';
import { headersOf, signIn } from './features/me/me.testing.ts';
import { createAccount, http } from './testing.ts';

const routes = Object.entries(contract).flatMap(([feature, verbs]) =>
  Object.entries(verbs as Record<string, Route>)
    .filter(([, { auth }]) => auth === 'key')
    .map(([verb, route]) => ({ id: `${feature}.${verb}`, feature, route })),
);

/**
 * What a sign-in whose proof is weeks old must not do: each lets somebody in, makes a credential, or ends what nobody brings back.
 * Written by hand, so that a flag that is lost in the contract is missed here.
 */
const wantsProof = [
  'accounts.create',
  'accounts.link',
  'accounts.signOut',
  'accounts.update',
  'environments.addMember',
  'environments.destroy',
  'environments.enrollToken',
  'environments.setSshKey',
  'environments.updateMember',
  'hosts.exec',
  'hosts.invite',
  'me.addPasskey',
  'me.makeRecoveryCodes',
  'me.passkeyOptions',
  'me.remove',
  'me.removePasskey',
  'me.removePassword',
  'me.setPassword',
  'projects.remove',
  'schedules.approveCommand',
  'system.listBackups',
  'system.readBackup',
  'system.removeBackupPlace',
  'system.setBackupPlace',
];

/** A credential, as a request shows it, and what it is by the rules of `docs/scopes.md` and `docs/sign-in.md`. */
interface Shown {
  headers: Record<string, string>;
  /** `none`: no credential of this route. */
  kind: 'none' | 'login' | 'key' | 'token';
  scopes: readonly string[];
  isOfApp?: boolean;
  /** Of a sign-in. */
  isOld?: boolean;
  /** Only these routes take it. */
  only?: (route: Route) => boolean;
}

/** How a route answers who shows a credential, before it looks at anything else of the request. */
function expected({ id, feature, route }: (typeof routes)[number], shown: Shown): string {
  if (shown.kind === 'none' || (shown.only && !shown.only(route))) return '401 invalid_api_key';
  if (shown.kind === 'login' && (route.refusesLogins || route.only === 'token')) return '403 forbidden';
  if (shown.kind !== 'login' && route.only === 'login') return '403 sign_in_required';
  if (shown.kind !== 'token' && route.only === 'token') return '403 forbidden';
  const wanted: readonly string[] = scopesOf(feature, route);
  const holds = (scope: string): boolean => shown.scopes.includes('*') || shown.scopes.includes(scope);
  if (wanted.length > 0 && !wanted.some(holds)) return '403 forbidden';
  if (shown.isOfApp && route.ofApps !== undefined && !holds(route.ofApps)) return '403 forbidden';
  return shown.isOld && wantsProof.includes(id) ? '403 reauth_required' : '400 bad_request';
}

describe('every route and every kind of credential', () => {
  const day = 86_400_000;

  /** A request that goes no further than its credential: what is wrong with it is looked at next. */
  async function said({ gateway }: Platform, { route }: (typeof routes)[number], { headers }: Shown): Promise<string> {
    const { config } = gateway.kernel;
    const below = route.at === 'relay' ? new URL(config.relayUrl).pathname.replace(/\/$/, '') : '';
    const path = route.path.replaceAll(/\{\w+\*?\}/g, () => randomUUID());
    const answer = await fetch(`${gateway.url}${below}${path}`, {
      method: route.method,
      // A page of ours says where it is when it opens a WebSocket.
      headers: { ...headers, origin: new URL(config.baseUrl).origin, 'x-request-id': 'x'.repeat(129) },
    });
    const body = (await answer.json()) as { error: { code: string } };
    return `${answer.status} ${body.error.code}`;
  }

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  async function credentials(t: Platform): Promise<Record<string, Shown>> {
    const { gateway, port } = t;
    const base = `http://localhost:${port}`;
    const { browser, ...account } = await person(t, `${base}/auth`);
    const login = async (provedAt: number) => headersOf((await signIn(gateway, account, { provedAt })).token);
    const unknown = scopesOfApps('unknown');
    const registered = scopesOfApps('registered');
    const served = scopeNames.filter((scope) => scope.endsWith(':serve'));
    const made = async (scopes: readonly string[]) =>
      bearer((await createAccount(gateway, { scopes: [...scopes] })).key);
    const media = await http(gateway.url, '/v1/tokens', { key: account.key, body: { scope: 'audio', ttl: 60 } });
    const { body } = await http(gateway.url, '/v1/transcripts', { key: account.key, body: { title: 'Talk' } });
    const shares = `/v1/transcripts/${body.transcript.id}/shares`;
    const { token: share } = (await http(gateway.url, shares, { key: account.key, body: {} })).body;
    const ofApi = await tokenOf(t, browser, { resource: base, scope: 'usage environments keys' });
    const ofMcp = await tokenOf(t, browser, { resource: `${base}/mcp`, scope: 'mcp sandboxes' });
    const app = async (scopes: readonly Scope[], trust: 'unknown' | 'registered') =>
      bearer((await letIn(gateway, account, [...scopes], trust)).key);
    return {
      'a sign-in with a proof of now': { headers: await login(Date.now()), kind: 'login', scopes: scopesOfPerson },
      'a sign-in with a proof of 20 days ago': {
        headers: await login(Date.now() - 20 * day),
        kind: 'login',
        scopes: scopesOfPerson,
        isOld: true,
      },
      'a key that may do everything': { headers: bearer(account.key), kind: 'key', scopes: ['*'] },
      'a weak key': { headers: await made(['usage:read']), kind: 'key', scopes: ['usage:read'] },
      'a key of a host': { headers: await made(served), kind: 'key', scopes: served },
      'a key of an unknown app': {
        headers: await app(unknown, 'unknown'),
        kind: 'key',
        scopes: unknown,
        isOfApp: true,
      },
      "a key of the operator's app": {
        headers: await app(registered, 'registered'),
        kind: 'key',
        scopes: registered,
        isOfApp: true,
      },
      'an access token for the API': {
        headers: bearer(ofApi),
        kind: 'token',
        scopes: ['usage', 'environments', 'keys'],
        isOfApp: true,
        only: ({ accessTokens }) => accessTokens === 'api',
      },
      'an access token for the tools': {
        headers: bearer(ofMcp),
        kind: 'token',
        scopes: ['mcp', 'sandboxes'],
        isOfApp: true,
        only: ({ accessTokens }) => accessTokens === 'mcp',
      },
      'a token for audio': {
        headers: bearer(media.body.token),
        kind: 'key',
        scopes: ['*'],
        only: ({ tokenScope }) => tokenScope === 'audio',
      },
      'a token of a shared recording': { headers: bearer(share), kind: 'none', scopes: [] },
      nothing: { headers: {}, kind: 'none', scopes: [] },
    };
  }

  test('agree on who is let through, who proves anew who they are, and who is refused', async () => {
    await using t = await openPlatform();
    const wrong: string[] = [];
    for (const [name, shown] of Object.entries(await credentials(t)))
      for (const one of routes) {
        const [found, wanted] = [await said(t, one, shown), expected(one, shown)];
        // Past a hundred wrong ones a minute, an address hears so.
        const isSlowed = wanted.startsWith('401') && found === '429 rate_limit_exceeded';
        if (found !== wanted && !isSlowed) wrong.push(`${name}: ${one.id}: ${found}, not ${wanted}`);
      }
    assert.deepEqual(wrong, []);
  });

  /** The scopes by which a caller may call a route that its scopes reach. */
  const mayCall = (scopes: readonly string[], { feature, route }: (typeof routes)[number], connectionId?: string) => {
    const actor: Actor = {
      accountId: 'a',
      credentialId: 'k',
      keyId: 'k',
      kind: 'key',
      connectionId,
      subscription: 'active',
      suspended: false,
      scopes,
      toolLevel: 'l3_sandbox',
      models: undefined,
      spendCapMicroUsd: undefined,
      expiresAt: undefined,
      spent: false,
      features: {},
    };
    try {
      checkAccess(feature, route, actor);
      return true;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  };

  test('agree on each scope by itself', () => {
    for (const one of routes)
      for (const scope of scopeNames) {
        const wanted = expected(one, { headers: {}, kind: 'key', scopes: [scope] });
        assert.equal(mayCall([scope], one), wanted === '400 bad_request', `${one.id} ${scope}`);
      }
  });

  test('agree with the table: what gives something away no key and no app may do whose scope does not reach it', () => {
    const reaches = (scope: string, reach: readonly Reach[]): boolean =>
      reachOf([scope]).some((one) => reach.includes(one) || one === 'people');
    for (const one of routes.filter(({ route }) => route.gives !== undefined))
      for (const scope of scopeNames) {
        const { gives = [] } = one.route;
        // Approving a command is asked of schedules, which reach what a machine approved.
        const given = one.id === 'schedules.approveCommand' ? (['agent', 'serve'] as const) : gives;
        if (mayCall([scope], one)) assert.ok(reaches(scope, given), `${one.id} ${scope}`);
      }
  });

  test('an app that nobody vouches for, with all that it may have, opens no terminal and makes no key or machine', () => {
    const unknown = scopesOfApps('unknown');
    const open = routes.filter((one) => mayCall(unknown, one, randomUUID())).map(({ id }) => id);
    const closed = [
      'accounts.create',
      'environments.enrollToken',
      'environments.setSshKey',
      'hosts.exec',
      'hosts.invite',
      'keys.create',
      'keys.update',
      'relay.attach',
      'relay.serve',
      'scheduler.claim',
    ];
    assert.deepEqual(
      closed.filter((id) => open.includes(id)),
      [],
    );
    for (const id of closed)
      assert.ok(
        routes.some((one) => one.id === id),
        id,
      );
  });
});
