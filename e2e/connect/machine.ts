import { createHash, generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { PlayedBrowser } from '../../apps/server/src/features/auth/auth.testing.ts';
import type { ConnectingClient } from './clients.ts';

/** An answer as a client sees it; a lost one is undefined. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: answers have many shapes
  body: any;
}

/** Ways to a platform: each request goes to one of its gateways, and its answer may be lost on the way back. */
export interface Network {
  /** The address of the platform, as its clients know it. */
  readonly base: string;
  ask(method: string, url: string, more?: Asked): Promise<Answer | undefined>;
}

interface Asked {
  headers?: Record<string, string>;
  body?: string;
}

/**
 * Goes to the port that `port` answers, each request from a network of its own; an answer that `isLost` never arrives, though
 * its request was served.
 */
export function network(base: string, port: () => number, isLost: () => boolean): Network & Disposable {
  let asked = 0;
  const agent = new Agent({ keepAlive: true });
  return {
    base,
    async ask(method, url, { headers = {}, body } = {}) {
      const { host, pathname, search } = new URL(url);
      asked += 1;
      const from = `198.51.${(asked >> 8) % 256}.${asked % 256}`;
      const sent = request({
        agent,
        host: '127.0.0.1',
        port: port(),
        path: pathname + search,
        method,
        headers: {
          host,
          'x-forwarded-for': from,
          ...headers,
          ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        },
      });
      sent.end(body);
      const [answer] = (await once(sent, 'response')) as [
        NodeJS.ReadableStream & { statusCode: number; headers: IncomingHttpHeaders },
      ];
      const text = (await buffer(answer)).toString();
      if (isLost()) return undefined;
      return { status: answer.statusCode, headers: answer.headers, body: bodyOf(text, answer.headers) };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function bodyOf(text: string, { 'content-type': type = '' }: IncomingHttpHeaders): unknown {
  if (type.startsWith('text/event-stream')) return JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? 'null') as unknown;
  return type.includes('json') && text !== '' ? (JSON.parse(text) as unknown) : text;
}

/** What a client keeps of a sign-in. */
interface Store {
  access: string;
  refresh: string;
  /** Milliseconds. */
  ends: number;
}

/** What it read of a resource and of who gives tokens for it. */
interface Found {
  resource: string;
  scopes: readonly string[];
  server: Record<string, string> & { scopes_supported: readonly string[] };
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const tries = 20;
/** Clients refresh so long before the end of a token. */
const earlyMs = 300_000;

/** A machine with one client on it, in five sessions. */
export class Machine {
  readonly client: ConnectingClient;
  signIns = 0;
  refreshes = 0;
  /** Of a session, or the one of all. */
  readonly stores: Store[] = [];
  readonly #network: Network;
  readonly #keys: { privateKey: KeyObject; publicKey: KeyObject } | undefined;
  readonly #documents: string;
  #id = '';
  #found: Found | undefined;

  /** `documents`: the host of the client's document. */
  constructor(client: ConnectingClient, { network: ways, documents }: { network: Network; documents: string }) {
    this.client = client;
    this.#network = ways;
    this.#documents = documents;
    if (client.known.by === 'document' && client.known.hasKeys)
      this.#keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  }

  get id(): string {
    return this.#id;
  }

  /** Its document, and the keys that it names. */
  published(): [path: string, body: object][] {
    const { known, name, redirectUris } = this.client;
    if (known.by !== 'document') return [];
    const id = this.#documents + known.path;
    const keys = `${known.path}.keys`;
    const document = {
      client_id: id,
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: this.#keys ? 'private_key_jwt' : 'none',
      ...(this.#keys && { jwks_uri: this.#documents + keys, token_endpoint_auth_signing_alg: 'ES256' }),
    };
    const jwk = this.#keys && {
      ...this.#keys.publicKey.export({ format: 'jwk' }),
      kid: 'one',
      use: 'sig',
      alg: 'ES256',
    };
    return [[known.path, document], ...(jwk ? ([[keys, { keys: [jwk] }]] as [string, object][]) : [])];
  }

  /** Looks, discovers, makes itself known and has a person let it in: for all its sessions, or for each. */
  async connect(browser: PlayedBrowser): Promise<void> {
    await this.#look();
    const found = await this.#discover();
    await this.#makeKnown(found);
    const wanted = this.client.store === 'shared' ? 1 : 5;
    while (this.stores.length < wanted) this.stores.push(await this.#signIn(found, browser));
  }

  /** Its sessions read their store, as if they had started at one moment. */
  begin(): void {
    this.#copies = Array.from({ length: 5 }, (_, n) => ({ ...(this.stores[this.#storeOf(n)] as Store) }));
  }

  /** These of its sessions list the tools at once, with what they read when they began; answers what they met in the end. */
  use(sessions: readonly number[] = [0, 1, 2, 3, 4]): Promise<number[]> {
    return Promise.all(sessions.map((n) => this.#session(n)));
  }

  #copies: Store[] = [];

  #storeOf(session: number): number {
    return this.client.store === 'shared' ? 0 : session;
  }

  async #session(n: number): Promise<number> {
    const at = this.#storeOf(n);
    let tokens = this.#copies[n] as Store;
    const isEarly = this.client.refreshes === 'before the end' && tokens.ends - Date.now() < earlyMs;
    if (isEarly) tokens = this.#keep(at, await this.#refresh(tokens)) ?? tokens;
    const status = await this.list(tokens.access);
    if (status !== 401 || isEarly) return status;
    const again = this.#keep(at, await this.#refresh(tokens));
    return again ? this.list(again.access) : 401;
  }

  #keep(at: number, given: Store | undefined): Store | undefined {
    if (given) this.stores[at] = given;
    return given && { ...given };
  }

  /** The status of a list of the tools. */
  async list(token: string): Promise<number> {
    return (await this.#message(token)).status;
  }

  #message(token?: string): Promise<Answer> {
    return this.#surely('POST', `${this.#network.base}/mcp`, {
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2025-11-25',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    });
  }

  /** Asks until an answer arrives. */
  async #surely(method: string, url: string, asked?: Asked): Promise<Answer> {
    for (let n = 0; n < tries; n += 1) {
      const answer = await this.#network.ask(method, url, asked);
      if (answer) return answer;
    }
    throw new Error(`${this.client.name}: no answer from ${url}`);
  }

  #challenge = '';

  async #look(): Promise<void> {
    for (const method of this.client.looks) {
      const answer =
        method === 'POST' ? await this.#message() : await this.#surely(method, `${this.#network.base}/mcp`);
      const challenge = answer.headers['www-authenticate'];
      if (answer.status !== 401 || challenge === undefined)
        throw new Error(`${this.client.name}: ${method} /mcp was ${answer.status} ${challenge}`);
      this.#challenge = challenge;
    }
  }

  async #first(urls: readonly string[]): Promise<Answer> {
    for (const url of urls) {
      const answer = await this.#surely('GET', url, { headers: { 'mcp-protocol-version': '2025-11-25' } });
      if (answer.status === 200) return answer;
      if (answer.status !== 404) throw new Error(`${url} ${answer.status}`);
    }
    throw new Error(`${this.client.name} found nothing at ${urls.join(', ')}`);
  }

  async #discover(): Promise<Found> {
    const { resourceFrom, providerFrom } = this.client;
    const parsed = /^Bearer (?:[a-z_]+="[^"]*", )*resource_metadata="([^"]+)"(?:, |$)/.exec(this.#challenge)?.[1];
    const cut = /resource_metadata=(?:"([^"]+)"|([^\s,]+))/i.exec(this.#challenge)?.[1];
    const urls =
      resourceFrom === 'challenge'
        ? [parsed ?? 'no challenge']
        : resourceFrom === 'challenge cut out'
          ? [cut ?? 'no challenge']
          : resourceFrom.map((path) => this.#network.base + path);
    const { body: resource } = await this.#first(urls);
    const issuer = new URL((resource.authorization_servers as string[])[0] ?? '');
    const paths = providerFrom.map((one) => issuer.origin + one.replace('{path}', issuer.pathname.replace(/\/$/, '')));
    const { body: server } = await this.#first(paths);
    if (server.issuer !== issuer.href.replace(/\/$/, '')) throw new Error(`another issuer: ${server.issuer}`);
    if (!server.token_endpoint_auth_methods_supported.includes('none')) throw new Error('public apps are not taken');
    this.#found = { resource: resource.resource, scopes: resource.scopes_supported, server };
    return this.#found;
  }

  async #makeKnown({ server }: Found): Promise<void> {
    const { known, redirectUris } = this.client;
    if (known.by === 'document') {
      this.#id = this.#documents + known.path;
      return;
    }
    const { status, body } = await this.#surely('POST', server['registration_endpoint'] ?? '', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...known.body, redirect_uris: redirectUris }),
    });
    if (status !== 201) throw new Error(`${this.client.name}: ${status} ${JSON.stringify(body)}`);
    this.#id = body.client_id as string;
  }

  #scopes({ scopes, server }: Found): string {
    const own = { nothing: [], 'of the resource': scopes, 'of the provider': server.scopes_supported };
    const { asks, offline } = this.client;
    const wanted = asks === 'of the provider and the resource' ? [...server.scopes_supported, ...scopes] : own[asks];
    return [...new Set([...wanted, ...(offline ? ['offline_access'] : [])])].join(' ');
  }

  async #signIn(found: Found, browser: PlayedBrowser): Promise<Store> {
    const { redirectAt, namesResource, prompt } = this.client;
    const verifier = randomBytes(32).toString('base64url');
    const redirectUri = redirectAt(49_152 + (this.signIns % 1_000));
    const state = randomUUID();
    const scope = this.#scopes(found);
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: this.#id,
      redirect_uri: redirectUri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(scope !== '' && { scope }),
      ...(prompt && { prompt }),
      ...(namesResource.includes('authorize') && { resource: found.resource }),
    });
    this.signIns += 1;
    const { answer } = await browser.letIn(
      `${found.server['authorization_endpoint']}?${query.toString()}`,
      redirectUri,
    );
    if (answer.searchParams.get('state') !== state) throw new Error(answer.href);
    const given = await this.#token(found, {
      grant_type: 'authorization_code',
      code: answer.searchParams.get('code') ?? '',
      code_verifier: verifier,
      redirect_uri: redirectUri,
      ...(namesResource.includes('exchange') && { resource: found.resource }),
    });
    // The answer to a code is given once: the person is asked anew, and that is no second sign-in.
    if (given === 'lost') {
      this.signIns -= 1;
      return this.#signIn(found, browser);
    }
    if (!given) throw new Error(`${this.client.name} got no tokens`);
    return given;
  }

  /** Refreshes with what a session has, again where the answer was lost; undefined: refused. */
  async #refresh({ refresh }: Store): Promise<Store | undefined> {
    const found = this.#found as Found;
    this.refreshes += 1;
    for (let n = 0; n < tries; n += 1) {
      const given = await this.#token(found, {
        grant_type: 'refresh_token',
        refresh_token: refresh,
        ...(this.client.scopeAtRefresh && { scope: this.#scopes(found) }),
        ...(this.client.namesResource.includes('refresh') && { resource: found.resource }),
      });
      if (given !== 'lost') return given;
    }
    throw new Error(`${this.client.name}: no answer to a refresh`);
  }

  /** What somebody gets who holds a refresh token of it. */
  async refreshWith(refresh: string): Promise<{ access: string; refresh: string } | undefined> {
    return this.#refresh({ access: '', refresh, ends: 0 });
  }

  async #token({ server }: Found, form: Record<string, string>): Promise<Store | undefined | 'lost'> {
    const url = server['token_endpoint'] ?? '';
    const body = new URLSearchParams({ client_id: this.#id, ...form, ...this.#proof(server['issuer'] ?? '') });
    const answer = await this.#network.ask('POST', url, {
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: body.toString(),
    });
    if (!answer) return 'lost';
    if (answer.status !== 200) return undefined;
    const { access_token: access, refresh_token: refresh, expires_in: seconds, scope } = answer.body;
    if (typeof scope === 'string' && !scope.split(' ').includes('mcp')) throw new Error(`no tools: ${scope}`);
    return { access, refresh, ends: Date.now() + seconds * 1000 };
  }

  /** Signs who it is, by the keys of its document (RFC 7523). */
  #proof(issuer: string): Record<string, string> {
    if (!this.#keys) return {};
    const part = (of: object) => Buffer.from(JSON.stringify(of)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: this.#id, sub: this.#id, aud: issuer, jti: randomUUID(), iat: now, exp: now + 300 };
    const text = `${part({ alg: 'ES256', kid: 'one', typ: 'JWT' })}.${part(claims)}`;
    const key = { key: this.#keys.privateKey, dsaEncoding: 'ieee-p1363' } as const;
    const signature = sign('sha256', Buffer.from(text), key).toString('base64url');
    return { client_assertion_type: assertionType, client_assertion: `${text}.${signature}` };
  }
}
