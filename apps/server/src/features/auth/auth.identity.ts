import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { wordsOf } from '@svc/words';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { cookieLine, cookieOf, loginCookie, loginSeconds } from '../../kernel/mount/browsers.ts';
import { Strangers } from '../../kernel/mount/strangers.ts';
import type { Connections } from '../connections/index.ts';
import { revokeKeysOfGrant } from '../keys/index.ts';
import { notify } from '../notifications/index.ts';
import { bySystem, writeAct } from '../../kernel/records/audit.ts';
import { linkUrl } from './auth.links.ts';
import { type Notice, noticeOf } from './auth.notices.ts';
import { providerPages } from './flows/device.ts';
import type { PageVisit } from './flows/visit.ts';
import { messagePage } from './pages/notes.ts';
import { findLogin } from './people/logins.sql.ts';
import { endLogin, renewLogin } from './people/logins.ts';
import { hashOfSecret } from './people/secrets.ts';
import { findSigner } from './provider/accounts.sql.ts';
import { signingKeysChanged } from './provider/keys.ts';
import { openProvider, type ProviderAccount } from './provider/provider.ts';
import type { Stolen } from './provider/exchange.ts';
import { deleteGrant, deleteProviderSessions } from './provider/records.sql.ts';
import { endOtherSessions } from './provider/sessions.ts';
import { alike } from '../../kernel/base/spellings.ts';

type Opened = Awaited<ReturnType<typeof openProvider>>;

/** The identity provider of this process, made when it is asked for first: a gateway where nobody signs in saves its memory. */
export class Identity {
  readonly strangers: Strangers;
  /** Wrong codes that people typed for a device: ten in ten minutes, and no more are looked at. */
  readonly deviceCodes: Strangers;
  readonly #kernel: Kernel;
  readonly #connections: Connections;
  #opened: Promise<Opened> | undefined;

  constructor(kernel: Kernel, connections: Connections) {
    this.#kernel = kernel;
    this.#connections = connections;
    this.strangers = new Strangers(kernel, { what: 'links and codes' });
    this.deviceCodes = new Strangers(kernel, { what: 'codes of devices', most: 10, windowMs: 600_000 });
  }

  /** Follows changes of the signing keys: the next request has a provider with the new ones. */
  async start(): Promise<void> {
    const { gateways } = this.#kernel;
    const renew = (): void => {
      this.#opened = undefined;
    };
    gateways.onMissed(renew);
    await gateways.onAnnounce(signingKeysChanged, renew);
  }

  /** The provider; a failure to make it is tried again by the next request. */
  open(): Promise<Opened> {
    this.#opened ??= openProvider({
      kernel: this.#kernel,
      connections: this.#connections,
      account: (id) => this.account(id),
      pages: providerPages({
        kernel: this.#kernel,
        connections: this.#connections,
        account: (id) => this.account(id),
      }),
      signedOut: (cookies) => this.#endLoginOf(cookies),
      stolen: (whose) => this.#endStolen(whose),
    }).catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /**
   * A code or token of an app was used again later: somebody else has it. Its grant ends with the keys that were made
   * with it, and the person is told. What the app let in stays: an app that lost an answer for long looks the same.
   */
  #endStolen: Stolen = async ({ accountId, clientId, grantId }) => {
    const kernel = this.#kernel;
    const connection = await this.#connections.of(accountId, clientId);
    await inTransaction(kernel.sql, async (tx) => {
      // A second one that is used again finds nothing left to end.
      if (!(await deleteGrant(tx, grantId))) return;
      const keys = await revokeKeysOfGrant(tx, kernel, { accountId, grantId, by: bySystem });
      const details = { client_id: clientId, keys };
      await writeAct(tx, { accountId, by: bySystem, action: 'connections.stolen', subject: connection?.id, details });
      if (connection) await this.tell(tx, accountId, { type: 'connection.stolen', app: connection.name });
    });
  };

  /** An account, if it may sign in. */
  async account(id: string): Promise<ProviderAccount | undefined> {
    const row = await findSigner(this.#kernel.sql, id);
    return row && { id, email: row.email, name: row.name, emailVerified: row.email_verified };
  }

  /** Says that a page was open for too long, and leads to where signing in begins. */
  expiredPage(visit: PageVisit): string {
    const { problems, message } = wordsOf(visit.page.locale);
    const way = { href: this.homeFor(visit), linkText: message.signIn };
    return messagePage(visit.page, { title: message.expiredTitle, text: problems.expired, ...way });
  }

  /**
   * Signs this browser in at the provider, as after its sign-in page. `provedAt`: when the person proved who they are, in
   * milliseconds since the epoch; if unset: now.
   */
  async startSession(
    visit: PageVisit,
    accountId: string,
    amr: string[],
    provedAt: number = this.#kernel.clock.now(),
  ): Promise<void> {
    const { provider } = await this.open();
    // Nobody would find the former one to end it.
    await this.#endSession(visit.cookie(sessionCookie));
    const session = new (provider.Session as unknown as new (payload: object) => InstanceType<typeof provider.Session>)(
      {},
    );
    session.loginAccount({ accountId, amr, loginTs: Math.floor(provedAt / 1000) });
    await session.save(sessionSeconds);
    await this.#setSession(visit, { id: session.jti, seconds: sessionSeconds });
  }

  /** Gives a browser the cookie of a session. */
  async #setSession(
    { request, response }: Pick<PageVisit, 'request' | 'response'>,
    { id, seconds }: { id: string; seconds: number },
  ): Promise<void> {
    const { provider } = await this.open();
    const { cookies } = (provider as unknown as Koa).createContext(request, response);
    const maxAge = seconds * 1000;
    cookies.set(sessionCookie, id, { path: '/', httpOnly: true, sameSite: 'lax', secure: true, signed: true, maxAge });
  }

  /** Ends every session of an account at the provider. */
  endSessions(tx: Db, accountId: string): Promise<void> {
    return deleteProviderSessions(tx, accountId);
  }

  /**
   * Ends the sessions of an account at the provider but that of the browser with these cookies, which has a new name: who copied
   * its cookie is signed out with the others. Answers the lines of `set-cookie` for that browser; without a session of its
   * own, or where the provider has another host, there are none, and all end.
   */
  async endOtherSessions(tx: Db, accountId: string, cookies: string | undefined): Promise<string[]> {
    const id = cookieOf(cookies, sessionCookie);
    const kept = await endOtherSessions(tx, this.#kernel, { accountId, id });
    if (!kept) return [];
    // The library signs its cookies, and writes them into an answer.
    const request = new IncomingMessage(new Socket());
    const response = new ServerResponse(request);
    await this.#setSession({ request, response }, kept);
    return [response.getHeader('set-cookie') ?? []].flat().map(String);
  }

  /**
   * Gives the browser of a login, which has these cookies, a new one, so that a copy of the former one ends with the
   * others: the lines of `set-cookie`. Throws 401 where it was signed out since the request began.
   */
  async renewLogin(tx: Db, loginId: string, cookies: string | undefined): Promise<string[]> {
    const token = await renewLogin(this.#kernel, tx, { loginId, shown: cookieOf(cookies, loginCookie) });
    return [cookieLine(loginCookie, token, { maxAge: loginSeconds, sameSite: 'Strict' })];
  }

  /** Whether the provider knows this browser, signed in or not. */
  async hasSession(visit: PageVisit): Promise<boolean> {
    const id = visit.cookie(sessionCookie);
    const { provider } = await this.open();
    return id !== undefined && (await provider.Session.find(id)) !== undefined;
  }

  /**
   * Whether this browser is signed in now with this session of an account that may sign in, and how many seconds ago the person
   * proved who they are; undefined: it is not.
   */
  async provedAgo(
    visit: PageVisit,
    { accountId, sessionId }: { accountId: string; sessionId: string | undefined },
  ): Promise<number | undefined> {
    const id = visit.cookie(sessionCookie);
    const { provider } = await this.open();
    const session = id === undefined ? undefined : await provider.Session.find(id);
    if (!session || session.uid !== sessionId || session.accountId !== accountId) return undefined;
    if ((await this.account(accountId)) === undefined) return undefined;
    return this.#kernel.clock.now() / 1000 - (session.loginTs ?? 0);
  }

  /**
   * Ends the session of this browser at the provider, or it would be signed in again without a word. Where the provider has a
   * host of its own its cookie is not seen here: all sessions of the account end then.
   */
  async endSessionOf(visit: PageVisit, accountId: string): Promise<void> {
    const id = visit.cookie(sessionCookie);
    if (id === undefined) return this.endSessions(this.#kernel.sql, accountId);
    await this.#endSession(id);
    visit.setCookie(sessionCookie, null, { maxAge: 0, sameSite: 'Lax' });
  }

  async #endLoginOf(cookies: string | undefined): Promise<void> {
    const { sql, clock } = this.#kernel;
    const hash = hashOfSecret(cookieOf(cookies, loginCookie) ?? '');
    const row = hash && (await findLogin(sql, clock, hash));
    if (row)
      await endLogin(this.#kernel, {
        accountId: row.account_id,
        loginId: row.id,
        by: { kind: 'login', loginId: row.id },
      });
  }

  async #endSession(id: string | undefined): Promise<void> {
    if (id === undefined) return;
    const { provider } = await this.open();
    await (await provider.Session.find(id))?.destroy();
  }

  /** Where a person goes who has just signed in, at the address by which their browser came. */
  homeFor(visit: PageVisit): string {
    return `${this.hubFor(visit)}/login/start`;
  }

  /** `{hub_url}` in the spelling by which the browser came. */
  hubFor({ hostname }: PageVisit): string {
    const { hubUrl } = this.#kernel.config;
    return alike(hubUrl).find((url) => new URL(url).hostname === hostname) ?? hubUrl;
  }

  /** The address of a one-time link. */
  linkOf(path: 'setup' | 'link', token: string): string {
    return linkUrl(this.#kernel.config, path, token);
  }

  /** Tells a person of something that was done to how they sign in, in the transaction in which it was done. */
  tell(tx: Db, accountId: string, notice: Notice): Promise<void> {
    return notify(this.#kernel, tx, noticeOf(accountId, notice));
  }
}

/** The name of the provider's own cookie, and how long its session lasts. */
const sessionCookie = '__Host-svc_session';
const sessionSeconds = 30 * 86_400;

interface Koa {
  createContext(
    request: PageVisit['request'],
    response: PageVisit['response'],
  ): { cookies: { set(name: string, value: string, options: object): void } };
}
