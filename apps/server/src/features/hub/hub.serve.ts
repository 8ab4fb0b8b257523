import { wordsOf } from '@svc/words';
import type { Actor } from '../../kernel/base/actor.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import type { RawRoute } from '../../kernel/feature.ts';
import { dropBody } from '../../kernel/http/leftover.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { loginCookie, loginOf, loginSeconds, ownOrigins } from '../../kernel/mount/browsers.ts';
import { bySystem, type Who } from '../../kernel/records/audit.ts';
import {
  createLogin,
  endLogin,
  headersOf,
  type Identity,
  listLogins,
  messagePage,
  nameOfBrowser,
  PageVisit,
  redirectPage,
} from '../auth/index.ts';
import type { HubAssets } from './hub.assets.ts';
import { flowSeconds, type HubClient } from './hub.login.ts';
import type { HubPages } from './hub.pages.ts';
import { pathOf } from './hub.shell.ts';

type Exchange = Parameters<RawRoute['open']>[0];

/** What the login routes stand on. */
export interface HubParts {
  kernel: Kernel;
  client: HubClient;
  identity: Identity;
  assets: HubAssets;
  pages: HubPages;
  authenticateLogin: (text: string) => Actor | undefined | Promise<Actor | undefined>;
}

/** A cookie for each sign-in that is under way: two tabs that sign in at once must not end each other's. */
const flowCookie = '__Host-svc_flow-';
const mostFlows = 4;
/** Whose data the browser may keep; no secret. Pages read it. */
const accountCookie = '__Host-svc_account';

/** Answers everything below `{hub_url}`. */
export async function serveHub(parts: HubParts, exchange: Exchange): Promise<void> {
  const { request, response, rest, address, kernel } = exchange;
  for (const [name, value] of Object.entries(headersOf(kernel.config))) response.setHeader(name, value);
  const visit = new PageVisit({ request, response, kernel, path: `/${rest}`, address });
  try {
    await route(visit, parts);
  } catch (error) {
    if (!(error instanceof ApiError) || response.headersSent) throw error;
    visit.json(error.status, error.envelope(), error.headers ?? {});
  }
  dropBody(kernel.clock, request);
}

async function route(visit: PageVisit, parts: HubParts): Promise<void> {
  const { path, method, isRead } = visit;
  // A sign-in under way is sealed, and a machine that woke up a moment ago has not renewed its lease yet.
  if (path === '/login/start' || path === '/callback') await visit.kernel.gateways.prove();
  if (path === '/login/start') return begin(visit, parts);
  if (path === '/callback' && isRead) return callback(visit, parts);
  if (path === '/login' && isRead) return visit.json(200, whoIs(await caller(visit, parts)));
  if (path === '/login' && method === 'DELETE') return signOut(visit, parts, await caller(visit, parts));
  // The service worker takes what is shared; without one the page says that no file came along.
  if (path === '/share' && method === 'POST')
    return visit.redirect(`${pathOf(visit.kernel.config)}/transcripts?shared=none`);
  if (!isRead) throw new ApiError('not_found', 'there is nothing at this address');
  if (path.startsWith('/assets/')) return parts.assets.send(visit, path.slice('/assets/'.length));
  return parts.pages.send(visit);
}

const whoIs = ({ accountId, credentialId, authTime }: Actor) => ({
  account_id: accountId,
  login_id: credentialId,
  auth_time: new Date(authTime ?? 0).toISOString(),
});

/** The signed-in person, of a request that one of our pages sent. Throws 401. */
async function caller(visit: PageVisit, parts: HubParts): Promise<Actor> {
  const { request, method, kernel } = visit;
  const text = loginOf({ method, headers: request.headers }, ownOrigins(kernel.config), false);
  const actor = text === undefined ? undefined : await parts.authenticateLogin(text);
  if (!actor) throw new ApiError('invalid_api_key', 'you are signed out; sign in again');
  // Who may do nothing may still sign out.
  if (actor.suspended && method !== 'DELETE')
    throw new ApiError('account_suspended', 'this account is suspended; ask whoever runs this installation');
  return actor;
}

/** A path of ours to come back to; anything else leads to the first page. */
const safePath = (text: unknown): string =>
  typeof text === 'string' && /^\/(?![/\\])[\x21-\x7e]{0,1000}$/.test(text) && !text.includes('\\') ? text : '/';

async function begin(visit: PageVisit, { client }: HubParts): Promise<void> {
  const isPost = visit.method === 'POST';
  if (isPost) visit.checkOwn();
  const given = isPost ? (await visit.jsonBody())['return_to'] : visit.query.get('return_to');
  const { to, state, kept } = await client.begin(visit.request.headers.host ?? '', safePath(given));
  // Names begin with the time: the first are the oldest.
  const others = visit.cookieNames.filter((name) => name.startsWith(flowCookie)).sort();
  for (const name of others.slice(0, -(mostFlows - 1))) dropFlow(visit, name);
  visit.setCookie(flowName(state), kept, { maxAge: flowSeconds, sameSite: 'Lax' });
  if (isPost) visit.json(200, { redirect_to: to });
  else visit.redirect(to);
}

/** The cookie of a sign-in. A state that is none of ours names a cookie that nobody has. */
const flowName = (state: string): string => `${flowCookie}${/^[\da-z]+-[\w-]{8}/.exec(state)?.[0] ?? ''}`;

const dropFlow = (visit: PageVisit, name: string): void => visit.setCookie(name, null, { maxAge: 0, sameSite: 'Lax' });

async function callback(visit: PageVisit, parts: HubParts): Promise<void> {
  const { client, kernel, identity } = parts;
  const { page, request } = visit;
  const host = request.headers.host ?? '';
  const hub = client.hubAt(host);
  const flow = flowName(visit.query.get('state') ?? '');
  const found = await client.end(host, visit.query.toString(), visit.cookie(flow) ?? '', visit.address);
  dropFlow(visit, flow);
  const before = await loginHere(visit, parts);
  // Signed in meanwhile in another tab, or gone back to in the history: nothing is missing.
  if (!found && before) return visit.html(200, redirectPage(page, { to: `${hub}/` }));
  if (!found) {
    const { message, problems } = wordsOf(page.locale);
    const text = {
      title: message.expiredTitle,
      text: problems.expired,
      href: `${hub}/login/start`,
      linkText: message.signIn,
    };
    return visit.html(400, messagePage(page, text));
  }
  const { name, platform } = nameOfBrowser(request.headers['user-agent']);
  const by: Who = bySystem;
  const { network } = visit;
  const { accountId, amr } = found;
  // The browser signs in once more: what it had is replaced, and is no new device.
  const { token } = await inTransaction(kernel.sql, async (tx) => {
    const login = { accountId, authTime: found.authTime * 1000, amr, name, platform, network };
    const isFirst = (await listLogins(tx, kernel.clock, accountId)).length === 0;
    if (before) await endLogin(kernel, { accountId: before.accountId, loginId: before.credentialId, by, tx });
    const made = await createLogin(kernel, { ...login, by, tx });
    const isNew = !isFirst && before?.accountId !== accountId;
    if (isNew) await identity.tell(tx, accountId, { type: 'login.new', device: name, network });
    return made;
  });
  visit.setCookie(loginCookie, token, { maxAge: loginSeconds, sameSite: 'Strict' });
  visit.setCookie(accountCookie, accountId, { maxAge: loginSeconds, sameSite: 'Strict', isReadable: true });
  // Not a redirect: a Strict cookie does not go along with one that another site began.
  visit.html(200, redirectPage(page, { to: `${hub}${found.returnTo}` }));
}

/** The login that this browser still has. */
async function loginHere(visit: PageVisit, { authenticateLogin }: HubParts): Promise<Actor | undefined> {
  const text = visit.cookie(loginCookie);
  return text === undefined ? undefined : authenticateLogin(text);
}

async function signOut(visit: PageVisit, { kernel, identity }: HubParts, actor: Actor): Promise<void> {
  const { accountId, credentialId } = actor;
  const by: Who = { kind: 'login', loginId: credentialId, accountId, address: visit.address };
  await endLogin(kernel, { accountId, loginId: credentialId, by });
  await identity.endSessionOf(visit, accountId);
  visit.setCookie(loginCookie, null, { maxAge: 0, sameSite: 'Strict' });
  visit.setCookie(accountCookie, null, { maxAge: 0, sameSite: 'Strict' });
  visit.json(200, { deleted: true });
}
