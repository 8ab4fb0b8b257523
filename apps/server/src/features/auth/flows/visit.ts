import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, badRequest } from '../../../kernel/base/errors.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { cookieNamesOf, cookieLine, cookieOf, ownOrigins } from '../../../kernel/mount/browsers.ts';
import { networkOf } from '../../../kernel/base/networks.ts';
import { lookOf, type PageContext } from '../pages/page.ts';
import { isLoopback } from '../../../kernel/base/spellings.ts';
import { basePath } from '../provider/urls.ts';

/** The largest form that a page of ours sends: a passkey is below 4 KiB. */
const mostFormBytes = 64 * 1024;

/** Headers of every page and answer (design: hub, Login and security). */
const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const;

/** The same with what https adds: browsers come back by https only, for a year. */
export const headersOf = ({ authUrl }: { authUrl: string }): Readonly<Record<string, string>> =>
  authUrl.startsWith('https:') ? { ...pageHeaders, 'strict-transport-security': 'max-age=31536000' } : pageHeaders;

/** One request of a browser for a page of ours. */
export class PageVisit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly kernel: Kernel;
  /** The path below `{auth_url}`, with a slash at its beginning. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly address: string;
  readonly page: PageContext;

  constructor(given: {
    request: IncomingMessage;
    response: ServerResponse;
    kernel: Kernel;
    path: string;
    address: string;
  }) {
    this.request = given.request;
    this.response = given.response;
    this.kernel = given.kernel;
    this.path = given.path;
    this.address = given.address;
    const { url = '' } = given.request;
    const at = url.indexOf('?');
    this.query = new URLSearchParams(at < 0 ? '' : url.slice(at));
    this.page = {
      ...lookOf(given.request.headers.cookie, given.request.headers['accept-language']),
      base: basePath(given.kernel.config),
    };
  }

  get method(): string {
    return this.request.method ?? 'GET';
  }

  get isRead(): boolean {
    return this.method === 'GET' || this.method === 'HEAD';
  }

  /** The network that guesses are counted for. */
  get network(): string {
    return networkOf(this.address);
  }

  /** The host name by which the browser reached the page. */
  get hostname(): string {
    return (this.request.headers.host ?? '').replace(/:\d+$/, '');
  }

  cookie(name: string): string | undefined {
    return cookieOf(this.request.headers.cookie, name);
  }

  /** The names of all cookies that the browser sent. */
  get cookieNames(): string[] {
    return cookieNamesOf(this.request.headers.cookie);
  }

  /** Adds a cookie of our own; `value` null removes it. */
  setCookie(...cookie: Parameters<typeof cookieLine>): void {
    this.response.appendHeader('set-cookie', cookieLine(...cookie));
  }

  html(status: number, body: string): void {
    this.#end(status, 'text/html; charset=utf-8', body);
  }

  json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): void {
    for (const [name, value] of Object.entries(headers)) this.response.setHeader(name, value);
    this.#end(status, 'application/json; charset=utf-8', JSON.stringify(body));
  }

  redirect(to: string): void {
    this.response.setHeader('location', to);
    this.#end(303, 'text/plain; charset=utf-8', '');
  }

  /** Whether the answer is read by a person. */
  get wantsHtml(): boolean {
    return /\btext\/html\b/.test(this.request.headers.accept ?? '');
  }

  /** Throws 403 unless a page of ours sent the form: browsers add cookies to what any page sends. */
  checkOwn(): void {
    const { origin } = this.request.headers;
    const site = this.request.headers['sec-fetch-site'];
    const isOwn = site === undefined ? ownOrigins(this.kernel.config).has(origin ?? '') : site === 'same-origin';
    if (!isOwn)
      throw new ApiError('forbidden', 'this form was sent by another site; open the page and send it from there');
  }

  /** The fields of a form. Throws 400 for another type of body, and 413 for one that no page of ours sends. */
  async form(): Promise<URLSearchParams> {
    const type = this.request.headers['content-type'] ?? '';
    if (!/^application\/x-www-form-urlencoded\b/i.test(type))
      throw badRequest('send a form (application/x-www-form-urlencoded)');
    const fields = new URLSearchParams((await this.#body()).toString());
    // No person types it, and the database takes none.
    for (const [name, value] of fields)
      if (value.includes('\0')) throw badRequest(`${name}: must be text without NUL`, { [name]: ['without NUL'] });
    return fields;
  }

  /** The JSON of a request by our script. */
  async jsonBody(): Promise<Record<string, unknown>> {
    const text = (await this.#body()).toString();
    if (text === '') return {};
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    } catch {
      // Said below.
    }
    throw badRequest('send a JSON object');
  }

  async #body(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of this.request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > mostFormBytes) throw new ApiError('payload_too_large', 'a form has 64 KiB at most');
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks);
  }

  #end(status: number, type: string, body: string): void {
    const { response } = this;
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
    response.end(this.method === 'HEAD' ? undefined : body);
  }
}

/** Whether people may sign in here: cookies of ours need https, which browsers waive on this machine alone. */
export const takesSignIns = ({ authUrl }: { authUrl: string }): boolean =>
  authUrl.startsWith('https:') || isLoopback(authUrl);
