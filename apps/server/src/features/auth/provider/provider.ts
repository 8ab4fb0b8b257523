import { freshSeconds, isStrong, scopeNames, scopesOfApps } from '@svc/contract';
import type { Configuration, KoaContextWithOIDC, default as Provider } from 'oidc-provider';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Connections } from '../../connections/index.ts';
import { mostDays } from '../people/logins.sql.ts';
import { Records } from './adapter.ts';
import { findClient } from './clients.sql.ts';
import { hubClient, isOfMcp, ownClients, registeredClient, trustOf } from './clients.ts';
import { exchangeOnce, type Stolen } from './exchange.ts';
import { openSigningKeys } from './keys.ts';
import { followSignOut, leadPeople, mendModels, sayNotFound, secureCookies } from './library.ts';
import type { ProviderPages } from './pages.ts';
import { kindOfRedirect } from './redirects.ts';
import { basePath, resourceOf } from './urls.ts';

type Library = typeof import('oidc-provider');

/** What the provider asks of an account: its address, and whether it may sign in. */
export interface ProviderAccount {
  id: string;
  email: string;
  name: string;
  emailVerified: boolean;
}

/** What the provider is made of. */
interface ProviderParts {
  kernel: Kernel;
  connections: Connections;
  /** The account, if it may sign in. */
  account: (id: string) => Promise<ProviderAccount | undefined>;
  pages: ProviderPages;
  /** Called for a code or token that was used again later. */
  stolen: Stolen;
  /** A browser signed out here: what else it is signed in with ends too. */
  signedOut: (cookies: string | undefined) => Promise<void>;
}

/** Seconds. */
const life = {
  // Each use is looked up, so that a short life would protect nothing.
  AccessToken: 3_600,
  AuthorizationCode: 60,
  DeviceCode: 600,
  IdToken: 300,
  Interaction: 3_600,
  Session: 30 * 86_400,
} as const;
/** A grant of an app that gets no refresh token: the hub keeps its own as long as a session, `svc login` has a key then. */
const grantSeconds = 30 * 86_400;
/** Of a browser that nobody is signed in with, such as one that opened the page of a device. */
const nobodysSeconds = 3_600;

const assertionSeconds = 600;

/** Scopes of OpenID. */
export const openIdScopes = ['openid', 'email', 'profile', 'offline_access'];

/** The library warns of a Node.js without a long-term name when it is loaded; the product pins its Node.js. */
async function loadLibrary(): Promise<Library> {
  const { console: said } = globalThis;
  const own = Object.getOwnPropertyDescriptor(said, 'warn');
  Object.defineProperty(said, 'warn', { value: () => {}, configurable: true, writable: true });
  try {
    return await import('oidc-provider');
  } finally {
    if (own) Object.defineProperty(said, 'warn', own);
  }
}

/** Makes the identity provider of `{auth_url}` (design: hub, Identity provider). */
export async function openProvider(parts: ProviderParts): Promise<{ provider: Provider; library: Library }> {
  const { kernel } = parts;
  const library = await loadLibrary();
  const refuse = (message: string): Error => new library.errors.InvalidGrant(message);
  const provider = new library.Provider(kernel.config.authUrl, {
    ...(await configurationOf(parts, library)),
    adapter: (model: string) => withClients(kernel, model, new Records(kernel, model, refuse)),
  });
  // `{auth_url}` says the protocol, and the mount writes it into the header that this lets count.
  provider.proxy = true;
  sayNotFound(provider, parts.pages);
  mendModels(provider);
  secureCookies(provider);
  leadPeople(provider, kernel.config);
  followSignOut(provider, parts.signedOut);
  exchangeOnce(provider, parts);
  provider.on('server_error', (_context, err) => kernel.log.error({ err }, 'the identity provider failed'));
  return { provider, library };
}

/** The operator's apps are rows of their own. */
function withClients(kernel: Kernel, model: string, records: Records): Records {
  if (model !== 'Client') return records;
  const find = records.find.bind(records);
  records.find = async (id) => {
    if (id.includes('\0')) return undefined;
    const row = await findClient(kernel.sql, id);
    return row ? registeredClient(row) : find(id);
  };
  return records;
}

async function configurationOf(parts: ProviderParts, library: Library): Promise<Configuration> {
  const { kernel, pages } = parts;
  const { config, keyring } = kernel;
  const base = basePath(config);
  const cookie = { httpOnly: true, sameSite: 'lax', secure: true, signed: true } as const;
  return {
    clients: ownClients(config),
    jwks: { keys: await openSigningKeys(kernel) },
    cookies: {
      names: { session: '__Host-svc_session', interaction: '__Secure-svc_interaction', resume: '__Secure-svc_resume' },
      long: { ...cookie, path: '/' },
      short: cookie,
      keys: [keyring.mac('auth-cookies', 'provider').toString('base64url')],
    },
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'none',
    },
    enabledJWA: {
      idTokenSigningAlgValues: ['ES256'],
      clientAuthSigningAlgValues: ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519'],
    },
    // What has keys in its metadata document signs who it is; whatever registers itself is public.
    clientAuthMethods: ['none', 'private_key_jwt'],
    assertJwtClientAuthClaimsAndHeader: (_ctx, { exp }) => checkAssertion(library, exp, kernel.clock.now()),
    responseTypes: ['code'],
    scopes: openIdScopes,
    claims: { openid: ['sub', 'amr'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: false,
    ttl: livesOf(kernel),
    routes: {
      authorization: '/authorize',
      token: '/token',
      jwks: '/jwks',
      userinfo: '/userinfo',
      revocation: '/revoke',
      registration: '/register',
      code_verification: '/device',
      device_authorization: '/device/authorize',
      end_session: '/logout',
    },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    findAccount: (_ctx, id) => findAccount(parts, id),
    interactions: {
      policy: policyOf(library),
      url: (_ctx, interaction) =>
        `${base}/${interaction.prompt.name === 'consent' ? 'consent' : 'sign-in'}/${interaction.uid}`,
    },
    loadExistingGrant: (ctx) => loadGrant(parts, ctx),
    renderError: pages.error,
    // A page of an app asks from where its answers go.
    clientBasedCORS: (_ctx, origin, client) =>
      (client.redirectUris ?? []).some((uri) => URL.parse(uri)?.origin === origin && origin !== 'null'),
    features: featuresOf(parts, library),
    // What the library fetches is named by strangers: metadata documents of clients.
    fetch: (url: unknown) => pages.fetch(String(url)),
  } as Configuration;
}

/** What shows who an app is counts for a few minutes: it is remembered for so long, lest it be used twice. */
async function checkAssertion({ errors }: Library, end: unknown, now: number): Promise<void> {
  if (typeof end === 'number' && end <= now / 1000 + assertionSeconds) return;
  throw new errors.InvalidClientAuth(`a client_assertion ends within ${assertionSeconds} seconds`);
}

function featuresOf({ kernel, pages }: ProviderParts, library: Library): Configuration['features'] {
  const { config } = kernel;
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    revocation: {
      enabled: true,
      // Apps are public: one ends its own tokens alone.
      allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
    },
    userinfo: { enabled: true },
    deviceFlow: {
      enabled: true,
      charset: 'base-20',
      mask: '****-****',
      userCodeInputSource: pages.deviceInput,
      userCodeConfirmSource: pages.deviceConfirm,
      successSource: pages.deviceDone,
      deviceInfo: pages.deviceInfo,
    },
    rpInitiatedLogout: { enabled: true, logoutSource: pages.signOut, postLogoutSuccessSource: pages.signedOut },
    registration: {
      enabled: true,
      issueRegistrationAccessToken: false,
    },
    clientIdMetadataDocument: {
      enabled: true,
      ack: 'draft-02',
      // The library takes http of any host, where everybody on the way reads the code.
      allowClient: (_ctx, client) =>
        (client.redirectUris ?? []).every((uri) => typeof kindOfRedirect(uri) === 'string'),
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, _client, oneOf) => oneOf?.[0],
      useGrantedResource: () => true,
      async getResourceServerInfo(_ctx, resource, client) {
        const kind = resourceOf(config, resource);
        if (kind === undefined)
          throw new library.errors.InvalidTarget('tokens are for {base_url} and {base_url}/mcp only');
        const isRegistered = (await findClient(kernel.sql, client.clientId)) !== undefined;
        const scopes = scopesOfApps(trustOf(client.clientId, isRegistered));
        return {
          scope: scopes.filter((scope) => kind === 'api' || isOfMcp(scope)).join(' '),
          audience: resource,
          accessTokenTTL: life.AccessToken,
          accessTokenFormat: 'opaque',
        };
      },
    },
  } as Configuration['features'];
}

/** Seconds that each kind of record lives. */
const livesOf = ({ config: { grants }, clock }: Kernel): Configuration['ttl'] => ({
  ...life,
  Session: (_ctx, { accountId }) => (accountId === undefined ? nobodysSeconds : life.Session),
  Grant: (_ctx, { clientId }) => (trustOf(clientId ?? '', false) === 'first-party' ? grantSeconds : grants.mostSeconds),
  // An app may leave its grant without a refresh for so long.
  RefreshToken({ oidc }) {
    const end = oidc.entities.Grant?.exp;
    const left = end === undefined ? grants.mostSeconds : end - Math.floor(clock.now() / 1000);
    return Math.max(1, Math.min(grants.idleSeconds, left));
  },
});

async function findAccount({ account }: ProviderParts, id: string) {
  const found = await account(id);
  if (!found) return undefined;
  return {
    accountId: id,
    claims: () => ({
      sub: id,
      email: found.email,
      email_verified: found.emailVerified,
      name: found.name,
    }),
  };
}

/** Scopes of ours that a request asks for. */
export const scopesAsked = (params: { scope?: unknown }): string[] =>
  (typeof params.scope === 'string' ? params.scope : '')
    .split(' ')
    .filter((scope) => (scopeNames as readonly string[]).includes(scope));

/**
 * The library's own prompts, and two more: strong scopes want a fresh proof of who consents, and whose account may not sign in
 * any more is asked who they are.
 */
function policyOf({ interactionPolicy }: Library) {
  const policy = interactionPolicy.base();
  const fresh = new interactionPolicy.Check(
    'fresh_proof',
    'these scopes need a fresh proof of who consents',
    'login_required',
    (ctx) => {
      const { oidc } = ctx;
      const isNeeded =
        oidc.client?.clientId !== hubClient && scopesAsked(oidc.params ?? {}).some((scope) => isStrong(scope));
      if (!isNeeded || oidc.result?.login || oidc.result?.consent || !oidc.session?.accountId) return false;
      return oidc.session.past(freshSeconds);
    },
  );
  const old = new interactionPolicy.Check(
    'proof_over',
    'who signed in so long ago signs in again',
    'login_required',
    // What it gave would be over already.
    ({ oidc: { result, session } }) =>
      !result?.login && session?.accountId !== undefined && session.past(mostDays * 86_400),
  );
  const gone = new interactionPolicy.Check(
    'account_gone',
    'this account may not sign in',
    'login_required',
    ({ oidc }) => oidc.session?.accountId !== undefined && oidc.account === undefined,
  );
  const { checks } = policy.get('login') ?? {};
  checks?.add(fresh);
  checks?.add(old);
  checks?.add(gone);
  return policy;
}

const isOfKind = (config: Kernel['config'], known: readonly string[], resource: string): boolean =>
  known.some((one) => resourceOf(config, one) === resourceOf(config, resource));

/**
 * What was granted before counts again for the same scopes, unless nobody vouches for the app, or the scopes are strong. The hub
 * is the person itself and asks nothing.
 */
async function loadGrant({ connections, pages, kernel: { config } }: ProviderParts, ctx: KoaContextWithOIDC) {
  const { oidc } = ctx;
  const { client, session, provider } = oidc;
  const accountId = session?.accountId;
  if (!client || accountId === undefined) return undefined;
  const decided = oidc.route === 'code_verification' ? await pages.deviceConsent(ctx) : undefined;
  if (decided !== undefined) Object.assign(oidc, { result: { ...oidc.result, consent: { grantId: decided } } });
  const consented = (oidc.result?.consent as { grantId?: string } | undefined)?.grantId;
  if (consented !== undefined) return provider.Grant.find(consented);
  const { clientId } = client;
  if (clientId === hubClient) {
    // Each start of the hub would leave one more.
    const before = session?.grantIdFor(clientId);
    const kept = before === undefined ? undefined : await provider.Grant.find(before);
    if (kept?.accountId === accountId) return kept;
  }
  const grant = new provider.Grant({ accountId, clientId });
  grant.addOIDCScope(openIdScopes.join(' '));
  if (clientId !== hubClient) {
    const asked = scopesAsked(oidc.params ?? {});
    const known = await connections.of(accountId, clientId);
    const isRemembered =
      known !== undefined &&
      known.trust !== 'unknown' &&
      // A token for the tools alone is less than one that becomes an API key.
      Object.keys(oidc.resourceServers ?? {}).every((one) => isOfKind(config, known.resources, one)) &&
      asked.every((scope) => known.scopes.includes(scope) && !isStrong(scope));
    if (!isRemembered) return undefined;
    for (const resource of Object.keys(oidc.resourceServers ?? {})) grant.addResourceScope(resource, asked.join(' '));
  }
  await grant.save();
  return grant;
}
