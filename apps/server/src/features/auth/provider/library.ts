import type { default as Provider, KoaContextWithOIDC } from 'oidc-provider';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { ProviderPages } from './pages.ts';
import { kindOfRedirect } from './redirects.ts';
import { forPeople } from './urls.ts';

/** Tells an access token from a key of ours, to a person, to a scanner, and to what passes headers on. */
export const accessTokenPrefix = 'svc_at_';

/** Addresses in the library's answers that a person opens. */
const opened = ['authorization_endpoint', 'end_session_endpoint', 'verification_uri', 'verification_uri_complete'];

/** Has a person open the page at which passkeys work, and where they are signed in already. */
export function leadPeople(provider: Provider, { authUrl }: Pick<Kernel['config'], 'authUrl'>): void {
  const wanted = forPeople(authUrl);
  provider.use(async (ctx, next) => {
    await next();
    if (wanted === authUrl || typeof ctx.body !== 'object' || ctx.body === null) return;
    const body = ctx.body as Record<string, unknown>;
    for (const name of opened) {
      const url = body[name];
      if (typeof url === 'string' && url.startsWith(`${authUrl}/`)) body[name] = wanted + url.slice(authUrl.length);
    }
  });
}

/** A person who is told that they are signed out is: the hub's login ends with the provider's session, before the answer. */
export function followSignOut(provider: Provider, signedOut: (cookies: string | undefined) => Promise<void>): void {
  provider.use(async (ctx, next) => {
    await next();
    const set = [ctx.response.get('set-cookie') ?? []].flat();
    const isOut = ctx.path === '/logout/confirm' && set.some((line) => line.startsWith('__Host-svc_session=;'));
    if (isOut) await signedOut(ctx.get('cookie'));
  });
}

/** On this machine alone browsers take secure cookies without TLS; the library would not send them. */
export function secureCookies(provider: Provider): void {
  const koa = provider as unknown as { createContext(...given: unknown[]): { cookies: { secure: boolean } } };
  const create = koa.createContext.bind(koa);
  koa.createContext = (...given) => {
    const context = create(...given);
    context.cookies.secure = true;
    return context;
  };
}

/** The library answers plain text where it has no route for a method. */
export function sayNotFound(provider: Provider, pages: ProviderPages): void {
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.status !== 404 || (ctx.body ?? undefined) !== undefined) return;
    ctx.status = 404;
    const failure = { error: 'not_found', error_description: `there is no ${ctx.method} at this address` };
    await pages.error(ctx as unknown as KoaContextWithOIDC, failure);
  });
}

/** What the library checks of an app. */
interface Schema {
  client_id: string;
  application_type: string;
  redirect_uris: string[];
  redirectUris: (this: Schema, uris?: string[], label?: string) => void;
}

/**
 * Judges each address of an app by itself. The library takes addresses of one kind, and those of a device where an app says
 * that it is native, which a document of a client mostly leaves out. What is no good address is left to the library.
 */
function judgeRedirects(provider: Provider): void {
  const { prototype } = (provider.Client as unknown as { Schema: { prototype: Schema } }).Schema;
  const { redirectUris } = prototype;
  prototype.redirectUris = function judged(this: Schema, uris = this.redirect_uris, label) {
    const kinds = uris.map((uri) => kindOfRedirect(uri));
    // A port of the person's machine may be any, which the library lets native apps have alone.
    if (kinds.includes('native') && this.client_id.startsWith('https://')) this.application_type = 'native';
    const others = uris.filter((_, at) => typeof kinds[at] === 'object');
    redirectUris.call(this, others, label);
  };
}

/** What a page of ours decided in a step of a sign-in; `proof` is another one for each time that somebody proves who they are. */
interface Step {
  login?: object;
  proof?: string;
}

/**
 * A session gets a new id where its person proved who they are, and keeps it where an app was let in alone: of two tabs that go
 * on at the same instant the second one would bring an id that is gone, and end as another browser's, signed out.
 */
function keepIdWithoutProof(provider: Provider): void {
  const { prototype } = provider.Session as unknown as { prototype: { resetIdentifier: (this: object) => void } };
  const { resetIdentifier } = prototype;
  prototype.resetIdentifier = function reset() {
    const { ctx } = provider.constructor as unknown as { ctx?: KoaContextWithOIDC };
    const isStep = ctx?.oidc.route === 'resume' || ctx?.oidc.route === 'device_resume';
    const { login, proof } = (ctx?.oidc.result ?? {}) as Step;
    const before = (ctx?.oidc.entities.Interaction?.lastSubmission ?? {}) as Step;
    // What was proved in a step before is said again with each later one.
    const isNew = login !== undefined && (proof === undefined || proof !== before.proof);
    if (!isStep || isNew) resetIdentifier.call(this);
  };
}

/** Begins the text of each access token with what it is. */
function nameTokens(provider: Provider): void {
  const { prototype } = provider.AccessToken as unknown as {
    prototype: { generateTokenId: (this: object) => string };
  };
  const { generateTokenId } = prototype;
  prototype.generateTokenId = function named() {
    return accessTokenPrefix + generateTokenId.call(this);
  };
}

interface Refreshed {
  find: (text: string, options?: object) => Promise<{ scopes: ReadonlySet<string> } | undefined>;
}

/**
 * An app that refreshes with all scopes that it asked for gets those of them that it was given. The library refuses where one is
 * missing, and apps send what metadata lists.
 */
function refreshWhatWasGiven(provider: Provider): void {
  const tokens = provider.RefreshToken as unknown as Refreshed;
  const find = tokens.find.bind(tokens);
  tokens.find = async (...given) => {
    const token = await find(...given);
    const params = (provider.constructor as unknown as { ctx?: KoaContextWithOIDC }).ctx?.oidc.params;
    const asked = typeof params?.['scope'] === 'string' ? params['scope'].split(' ') : [];
    const left = asked.filter((scope) => token?.scopes.has(scope));
    // With none of them it is told so.
    if (params && left.length > 0) params['scope'] = left.join(' ');
    return token;
  };
}

/** Has the library's tokens, sessions and clients do what is said above. */
export function mendModels(provider: Provider): void {
  nameTokens(provider);
  keepIdWithoutProof(provider);
  refreshWhatWasGiven(provider);
  judgeRedirects(provider);
}
