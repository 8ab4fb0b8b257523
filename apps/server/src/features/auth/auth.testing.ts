import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { bySystem } from '../../kernel/records/audit.ts';
import { createAccount, type GatewayOptions, type OpenTest, openTest, type TestAccount } from '../../testing.ts';
import { createLink } from './people/links.ts';

/** A platform that knows its own address, which sign-in needs: cookies, passkeys and redirects name it. */
export interface Platform extends OpenTest {
  port: number;
}

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Opens a platform on a port of its own, with the settings that follow from it; default: `http://localhost:<port>`. */
export async function openPlatform(
  settingsOf: (port: number) => GatewayOptions['settings'] = (port) => ({ SVC_BASE_URL: `http://localhost:${port}` }),
  options: Omit<GatewayOptions, 'settings'> = {},
): Promise<Platform> {
  const port = await freePort();
  const t = await openTest({ ...options, settings: { SVC_PORT: String(port), ...settingsOf(port) } });
  return Object.assign(t, { port });
}

/** An access token of the command line for a person whose browser is signed in, with these scopes of a resource. */
export async function tokenOf(
  { port }: Platform,
  browser: PlayedBrowser,
  { resource, scope }: { resource: string; scope: string },
): Promise<string> {
  const redirectUri = 'http://127.0.0.1:4711/callback';
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: 'svc-cli',
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: `openid ${scope}`,
    resource,
    state: 'state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const auth = `http://localhost:${port}/auth`;
  const { answer } = await browser.letIn(`${auth}/authorize?${query.toString()}`, redirectUri);
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: 'svc-cli',
    code: answer.searchParams.get('code') ?? '',
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  const given = await (await fetch(`${auth}/token`, { method: 'POST', body })).json();
  return (given as { access_token: string }).access_token;
}

/** A new account, and the token of a link by which a person sets it up. */
export async function invited(t: OpenTest): Promise<TestAccount & { token: string }> {
  const account = await createAccount(t.gateway);
  const given = { purpose: 'setup', accountId: account.id, by: bySystem } as const;
  const { token } = await createLink(t.gateway.kernel, given);
  return { ...account, token };
}

interface Cookie {
  value: string;
  path: string;
  /** Scripts do not see it. */
  isHidden: boolean;
}

/** A page, or an answer, as a browser sees it. */
export interface Shown {
  url: string;
  status: number;
  headers: Headers;
  body: string;
  /** Where it sends the browser: by a redirect, or by its page. */
  to: string | undefined;
}

/** A browser without a screen: it keeps cookies and says where its requests come from; redirects are its caller's to follow. */
export class PlayedBrowser {
  /** By name, and `name;path` where the path is another than `/`: a browser keeps one of a name for each path. */
  readonly cookies = new Map<string, Cookie>();
  readonly #fetch: typeof fetch;

  constructor(fetching: typeof fetch = fetch) {
    this.#fetch = fetching;
  }

  async open(url: string, init: RequestInit = {}): Promise<Shown> {
    const { pathname } = new URL(url);
    const cookie = [...this.cookies]
      .filter(([, { path }]) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`))
      .map(([key, { value }]) => `${key.split(';', 1)[0]}=${value}`)
      .join('; ');
    const response = await this.#fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { accept: 'text/html', ...(init.headers as object), ...(cookie !== '' && { cookie }) },
    });
    for (const line of response.headers.getSetCookie()) this.#keep(line, pathname);
    const body = await response.text();
    const refresh = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&');
    const target = response.headers.get('location') ?? refresh;
    const to = target === undefined ? undefined : new URL(target, url).href;
    return { url, status: response.status, headers: response.headers, body, to };
  }

  /** Sends a form from the page at `url`, as that page would. */
  send(url: string, fields: Readonly<Record<string, string>> | [string, string][]): Promise<Shown> {
    return this.open(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams(fields),
    });
  }

  /** Opens an address and goes wherever it leads, until a page stays, or until it leads to an address that `isEnd`. */
  async follow(url: string | Shown, isEnd: (url: string) => boolean = () => false): Promise<Shown> {
    let shown = typeof url === 'string' ? await this.open(url) : url;
    for (let hops = 0; shown.to !== undefined && !isEnd(shown.to); hops += 1) {
      if (hops > 10) throw new Error(`it leads in circles: ${shown.to}`);
      shown = await this.open(shown.to);
    }
    return shown;
  }

  /**
   * Opens an address of the provider for a person who is signed in, allows the scopes that the consent page asks for and that
   * `isTicked`, and answers where the browser is sent in the end.
   */
  async letIn(
    url: string,
    redirectUri: string,
    isTicked: (scope: string) => boolean = () => true,
  ): Promise<{ answer: URL; asked: string[] }> {
    const isEnd = (to: string): boolean => to.startsWith(redirectUri);
    let shown = await this.follow(url, isEnd);
    const asked = [...shown.body.matchAll(/type="checkbox"[^>]* name="scope" value="([^"]+)"/g)].map(
      ([, one = '']) => one,
    );
    if (shown.to === undefined && /\/consent\//.test(shown.url)) {
      const fields = asked.filter(isTicked).map((one): [string, string] => ['scope', one]);
      shown = await this.follow(await this.send(shown.url, [...fields, ['decision', 'allow']]), isEnd);
    }
    if (shown.to === undefined) throw new Error(`${shown.url} ${shown.status} ${shown.body}`);
    return { answer: new URL(shown.to), asked };
  }

  #keep(line: string, pathname: string): void {
    const [pair = '', ...attributes] = line.split(/;\s*/);
    const at = pair.indexOf('=');
    const given = new Map(attributes.map((one) => [one.split('=', 1)[0]?.toLowerCase(), one.replace(/^[^=]*=?/, '')]));
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const path = given.get('path') ?? (pathname.replace(/\/[^/]*$/, '') || '/');
    const ends = given.get('expires');
    const isOver = value === '' || given.get('max-age') === '0' || (ends !== undefined && Date.parse(ends) <= 0);
    const key = path === '/' ? name : `${name};${path}`;
    if (isOver) this.cookies.delete(key);
    else this.cookies.set(key, { value, path, isHidden: given.has('httponly') });
  }
}

/** The password of every person in tests. */
export const password = 'a horse, a battery, a staple';

/** A person who set up a new account with a password, and whose browser the provider knows. */
export async function person(
  t: OpenTest,
  authUrl: string,
  browser: PlayedBrowser = new PlayedBrowser(),
): Promise<TestAccount & { browser: PlayedBrowser }> {
  const account = await invited(t);
  const { email, token: carry } = account;
  const shown = await browser.send(`${authUrl}/setup`, { carry, email, password });
  if (shown.status !== 200) throw new Error(shown.body);
  return { ...account, browser };
}
