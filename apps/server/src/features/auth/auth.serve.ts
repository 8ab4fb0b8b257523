import type { IncomingMessage } from 'node:http';
import { wordsOf } from '@svc/words';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import type { Feature } from '../../kernel/feature.ts';
import { dropBody } from '../../kernel/http/leftover.ts';
import { consent } from './flows/consent.ts';
import { type OfRequest, ofRequest } from './flows/device.ts';
import type { FlowParts } from './flows/parts.ts';
import { passkeyOptions } from './flows/passkeys.ts';
import { phone } from './flows/phone.ts';
import { recover } from './flows/recover.ts';
import { register } from './flows/register.ts';
import { isResource, resource } from './flows/resources.ts';
import { mayResume, signIn } from './flows/sign-in.ts';
import { signUp } from './flows/sign-up.ts';
import { start } from './flows/start.ts';
import { headersOf, PageVisit, takesSignIns } from './flows/visit.ts';
import { type PageAsset, pageAssets } from './pages/assets.ts';
import { errorPage, messagePage } from './pages/notes.ts';
import { isOfMcp, mcpScopes } from './provider/clients.ts';
import { forNetwork } from './provider/network.ts';
import { makeRoomForBegun, mostBegun } from './provider/records.sql.ts';
import { alike } from '../../kernel/base/spellings.ts';
import { resourceOf } from './provider/urls.ts';

type Open = NonNullable<Feature['raw']>[number]['open'];
type Exchange = Parameters<Open>[0];

/** Paths of the library's routes below `{auth_url}`; what is neither here nor ours is 404. */
const ofProvider =
  /^\/(?:authorize(?:\/[\w-]+)?|token|jwks|userinfo|revoke|register|device(?:\/[\w-]+)?|device\/authorize|logout(?:\/confirm|\/success)?|\.well-known\/(?:openid-configuration|oauth-authorization-server))$/;
/** Forms and JSON that any of these takes. */
const mostBytes = 64 * 1024;
/** New interactions that a network may begin in a minute. */
const mostInteractions = 60;

/** Answers everything below `{auth_url}`: the provider's routes, and the pages on which people sign in. */
export class AuthServer {
  readonly #parts: FlowParts;
  readonly #assets: ReadonlyMap<string, () => PageAsset>;

  constructor(parts: FlowParts) {
    this.#parts = parts;
    this.#assets = pageAssets();
  }

  /** Whether a path below `{auth_url}` is one of its own. */
  has(path: string): boolean {
    return this.#assets.has(path) || pageOf(path) !== undefined || ofProvider.test(path);
  }

  /** `rest`: the path below `{auth_url}`, without a slash at its beginning. */
  async handle({ request, response, rest, address, kernel }: Exchange): Promise<void> {
    const path = `/${rest}`;
    for (const [name, value] of Object.entries(headersOf(kernel.config))) response.setHeader(name, value);
    // Resources have names of their own.
    if (!isResource(rest)) this.#settleHost(request);
    const visit = new PageVisit({ request, response, kernel, path, address });
    try {
      if (Number(request.headers['content-length'] ?? 0) > mostBytes)
        throw new ApiError('payload_too_large', 'a request here has 64 KiB at most');
      await this.#route(visit);
    } catch (error) {
      if (!(error instanceof ApiError) || response.headersSent) throw error;
      this.#refuse(visit, error);
    }
    dropBody(this.#parts.kernel.clock, request);
  }

  /**
   * The library makes addresses of the `Host` header, so that a forged one would poison discovery. The host of the setting
   * counts, and on this machine alone its other name.
   */
  #settleHost(request: IncomingMessage): void {
    const { headers } = request;
    const urls = alike(this.#parts.kernel.config.authUrl).map((url) => new URL(url));
    const own = urls.find(({ host }) => host === headers.host) ?? new URL(this.#parts.kernel.config.authUrl);
    headers.host = own.host;
    headers['x-forwarded-proto'] = own.protocol.slice(0, -1);
    for (const name of ['x-forwarded-host', 'x-forwarded-for', 'forwarded']) Reflect.deleteProperty(headers, name);
  }

  async #route(visit: PageVisit): Promise<void> {
    const { path, method } = visit;
    const asset = this.#assets.get(path);
    if (asset && visit.isRead) return sendAsset(visit, asset());
    if (isResource(path.slice(1))) return resource(visit);
    if (path === '/' && visit.isRead) return visit.redirect(`${this.#parts.identity.hubFor(visit)}/`);
    const page = pageOf(path);
    if (!page && !ofProvider.test(path)) throw new ApiError('not_found', 'there is nothing at this address');
    // What the provider keeps is sealed, and no other check of this request asks for the lease.
    await visit.kernel.gateways.prove();
    if (page && !takesSignIns(visit.kernel.config)) return sayPlain(visit);
    if (page) {
      if (!['GET', 'HEAD', 'POST', 'OPTIONS'].includes(method))
        throw new ApiError('not_found', `there is no ${method} here`);
      this.#parts.identity.strangers.check(visit.address);
      return page(visit, this.#parts);
    }
    await this.#toProvider(visit);
  }

  async #toProvider(visit: PageVisit): Promise<void> {
    const { request, response, path, method, kernel } = visit;
    const { identity } = this.#parts;
    const { provider } = await identity.open();
    if (path === '/authorize') {
      if (!takesSignIns(kernel.config)) return sayPlain(visit);
      const { allowed } = await kernel.limiter.take({ name: 'authorize', perMinute: mostInteractions }, visit.network);
      if (!allowed) throw tooMany();
    }
    if (path === '/authorize' || path === '/device/authorize') await makeRoomForBegun(kernel.sql, mostBegun);
    // Each such page leaves a row too.
    if (method !== 'POST' && (path === '/device' || path === '/logout')) {
      const { allowed } = await kernel.limiter.take({ name: 'authorize', perMinute: mostInteractions }, visit.network);
      if (!allowed) throw tooMany();
    }
    if (path === '/authorize') addScopes(visit);
    if (method === 'POST') {
      const { allowed } = await kernel.limiter.take({ name: 'auth', perMinute: mostPosts }, visit.network);
      if (!allowed) throw tooMany();
    }
    const uid = /^\/(?:authorize|device)\/([\w-]+)$/.exec(path)?.[1];
    // By any method: the library goes on by HEAD as by GET.
    if (uid !== undefined) {
      const interaction = await provider.Interaction.find(uid);
      if (interaction && !mayResume(visit, interaction.result)) return visit.html(400, identity.expiredPage(visit));
    }
    if (path.startsWith('/device')) this.#guardCodes(visit);
    if (goesOn(method, path) && !(await identity.hasSession(visit))) {
      if (visit.wantsHtml) return visit.html(400, identity.expiredPage(visit));
      throw badRequest('this page was open for too long; open it again');
    }
    mountedAt(request, visit.page.base, path);
    await new Promise<void>((resolve, reject) => {
      response.once('close', resolve);
      forNetwork(visit.network, () => provider.callback()(request, response)).then(resolve, reject);
    });
  }

  /** A code that comes with the address is only filled in; wrong ones are counted. */
  #guardCodes({ request, method, query, path, address, network }: PageVisit): void {
    const { deviceCodes } = this.#parts.identity;
    const code = query.get('user_code');
    const known: OfRequest = { network, noteWrong: () => deviceCodes.note(address) };
    if (method === 'GET' && code !== null) {
      known.prefilled = code.slice(0, 20);
      request.url = path;
    }
    Object.assign(request, { [ofRequest]: known });
    // A device that asks for a code guesses none.
    if (method === 'POST' && path !== '/device/authorize') deviceCodes.check(address);
  }

  #refuse(visit: PageVisit, error: ApiError): void {
    const { page, response } = visit;
    for (const [name, value] of Object.entries(error.headers ?? {})) response.setHeader(name, value);
    const { status } = error;
    const said = { error: codeOf(error), error_description: error.message };
    if (visit.wantsHtml)
      visit.html(status, errorPage(page, { error: said.error, description: said.error_description, status }));
    else visit.json(status, said);
  }
}

/** Codes, tokens and the like that a network may ask for in a minute. */
const mostPosts = 600;

/** Whether a request goes on with a device's code: the library answers 500 where the browser's session is gone meanwhile. */
const goesOn = (method: string, path: string): boolean =>
  path === '/device' ? method === 'POST' : /^\/device\/(?!authorize$)/.test(path);

const tooMany = (): ApiError =>
  new ApiError('rate_limit_exceeded', 'too many requests came from this network; wait a minute', {
    headers: { 'retry-after': '60' },
  });

/** A failure in the words of OAuth (document 1, Errors). */
function codeOf({ status, code }: ApiError): string {
  if (status === 429) return 'rate_limited';
  if (status === 503) return 'temporarily_unavailable';
  if (status === 404) return 'not_found';
  return status === 403 ? 'access_denied' : code === 'internal_error' ? 'server_error' : 'invalid_request';
}

type Page = (visit: PageVisit, parts: FlowParts) => Promise<void>;

/** The page of ours at a path. */
function pageOf(path: string): Page | undefined {
  const [, kind, uid] = /^\/(sign-in|consent)\/([\w-]{10,64})$/.exec(path) ?? [];
  if (uid !== undefined) return (visit, parts) => (kind === 'consent' ? consent : signIn)(visit, parts, uid);
  return pages[path];
}

const pages: Readonly<Record<string, Page>> = {
  '/setup': (visit, parts) => start(visit, parts, ['setup']),
  '/link': (visit, parts) => start(visit, parts, ['invite', 'recover']),
  '/recover': recover,
  '/phone': phone,
  '/register': register,
  '/sign-up': signUp,
  '/passkeys/options': (visit, parts) => passkeyOptions(visit, parts, 'get'),
  '/passkeys/new': (visit, parts) => passkeyOptions(visit, parts, 'create'),
};

function sendAsset(visit: PageVisit, { type, body, etag }: PageAsset): void {
  const { request, response, method } = visit;
  response.setHeader('etag', etag);
  response.setHeader('cache-control', 'public, max-age=300');
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304).end();
  response.writeHead(200, { 'content-type': type, 'content-length': body.length });
  response.end(method === 'HEAD' ? undefined : body);
}

function sayPlain(visit: PageVisit): void {
  const { message } = wordsOf(visit.page.locale);
  visit.html(403, messagePage(visit.page, { title: message.httpTitle, text: message.httpText }));
}

/** An app that asks for the tools with no scope of theirs is offered those that they need: it would get a token that does nothing. */
function addScopes({ request, query, kernel, path }: PageVisit): void {
  if (resourceOf(kernel.config, query.get('resource') ?? '') !== 'mcp') return;
  const asked = (query.get('scope') ?? '').split(' ').filter((scope) => scope !== '');
  if (asked.some(isOfMcp)) return;
  const more = new URLSearchParams(query);
  more.set('scope', [...asked, ...mcpScopes].join(' '));
  request.url = `${path}?${more.toString()}`;
}

/** Has the library know the path that it is mounted at. */
function mountedAt(request: IncomingMessage, base: string, path: string): void {
  const { url = '' } = request;
  const at = url.indexOf('?');
  const query = at < 0 ? '' : url.slice(at);
  Object.assign(request, { originalUrl: `${base}${path}${query}`, url: `${path}${query}` });
}
