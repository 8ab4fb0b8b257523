import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { contract } from '@svc/contract';
import { cookiesOf } from '../../kernel/forwarder/headers.ts';
import { type AskedName, isBrowser, originOf } from '../../kernel/forwarder/names.ts';
import type { NameOwner, NameTarget, PlainAnswer } from '../../kernel/forwarder/owners.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { hasScope } from '../../kernel/mount/access.ts';
import type { Who } from '../../kernel/records/audit.ts';
import {
  type Environments,
  portNameOf,
  portUrl,
  redeemTicket,
  ticketParameter,
  type Visit,
  type Visitor,
  visitorOf,
  visits,
} from '../environments/index.ts';
import type { KeyLookup } from '../keys/index.ts';
import type { Streams } from './relay.streams.ts';
import { pageWhileAway } from './relay.waking.ts';

/** Whose the ports are that a process forwards. */
interface Parts {
  streams: Streams;
  lookup: KeyLookup;
  environments: Environments;
  /** Of the listener that gives each port an origin of its own. */
  listener: { readonly port: number | undefined };
}

type Visited = NonNullable<Awaited<ReturnType<typeof visits>>[number]>;

/**
 * Published ports of environments, at the listener that forwards for all owners of names (design: environments, Who may). A
 * browser comes with a ticket, once, and has a cookie from then on; any other client shows its key.
 */
export class PublishedPorts implements NameOwner {
  readonly name = 'environments';
  readonly unreachable = 'Nothing answers on this port of the machine.';
  readonly invalid =
    'This address is not valid, or not yours to open. If it is: svc env open <environment> <port> answers a link for a browser.';
  readonly #kernel: Kernel;
  readonly #parts: Parts;

  constructor(kernel: Kernel, parts: Parts) {
    this.#kernel = kernel;
    this.#parts = parts;
  }

  owns({ label }: AskedName): boolean {
    return portNameOf(label) !== undefined;
  }

  async find(asked: AskedName, request: IncomingMessage): Promise<NameTarget | PlainAnswer | undefined> {
    const place = placeOf(asked);
    if (!place) return undefined;
    const { sql } = this.#kernel;
    const ticket = ticketOf(asked, request);
    const cookie = ticket === undefined ? undefined : await this.#redeem(place, ticket);
    if (cookie) return withoutTicket(asked, request, { 'set-cookie': setCookie(asked, cookie) });
    const visitor = await this.#visitor(asked, request, place);
    const [visit] = await visits(sql, [{ ...place, visitor }]);
    if (visit && 'id' in place.of && isBrowser(request.headers)) return this.#toOwnOrigin(visit, asked);
    if (!visit?.isOpen || !visit.isServed) return undefined;
    if (ticket !== undefined) return withoutTicket(asked, request);
    const by = visitor && { accountId: visitor.accountId, by: whoOf(visitor, visit.is_login) };
    const waiting = await pageWhileAway(
      this.#kernel,
      this.#parts.environments,
      visit,
      by,
      request.headers['accept-language'],
    );
    return waiting ?? this.#targetOf(visit, asked, visitor);
  }

  /** Of what is open: the visitor may have lost its role, its key or its account, and the port its visibility. */
  async stillValid(ids: readonly string[]): Promise<string[]> {
    const found = await visits(this.#kernel.sql, ids.map(visitOf));
    return ids.filter((_, at) => found[at]?.isOpen && found[at].isServed);
  }

  #targetOf(visit: Visited, asked: AskedName, visitor: Visitor | undefined): NameTarget {
    const { id, account_id: accountId, port, slug } = visit;
    const isOwn = visitor?.accountId === accountId;
    return {
      id: idOf({ of: { id }, port, visitor }),
      accountId,
      place: id,
      port,
      cookiePrefix: `${port}_${slug}_`,
      ...(asked.by !== 'path' && { visitorCookie: cookieName(asked) }),
      ...(!isOwn && { visitor: { accountId: visitor?.accountId } }),
      dial: () => this.#dial(visit, isOwn),
    };
  }

  /** The places of whoever owns the environment are theirs alone; visitors have those that the forwarder deals. */
  async #dial({ id, account_id: accountId, port }: Visited, isOwn: boolean): Promise<Duplex> {
    const { streams } = this.#parts;
    const giveBack = isOwn ? streams.place(accountId, id, `port ${port}`) : streams.visit();
    try {
      const machine = await streams.open(id, { kind: 'port', port, isPublished: true });
      machine.once('close', giveBack);
      return machine;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #redeem({ of, port }: Place, ticket: string) {
    return 'slug' in of ? redeemTicket(this.#kernel, { slug: of.slug, port }, ticket) : undefined;
  }

  /** Who asks: by a key of ours in a header, else by the cookie. */
  async #visitor(asked: AskedName, request: IncomingMessage, { of, port }: Place): Promise<Visitor | undefined> {
    const key = keyOf(request.headers);
    if (key !== undefined) {
      const actor = await this.#parts.lookup.authenticate(key);
      return actor && hasScope(actor.scopes, contract.relay.attach.scopes) ? actor : undefined;
    }
    const cookie = asked.by === 'path' ? undefined : cookiesOf(request.headers).get(cookieName(asked));
    if (cookie === undefined || !('slug' in of) || !isOfItself(asked, request)) return undefined;
    return visitorOf(this.#kernel, { slug: of.slug, port }, cookie);
  }

  /** A page below `{relay_url}` would be on the origin of everything else there: browsers go to the port's own. */
  #toOwnOrigin({ slug, port }: Visited, { path }: AskedName): PlainAnswer {
    const url = portUrl(this.#kernel.config, { slug, port }, this.#parts.listener.port);
    if (typeof url !== 'string') return { status: 403, text: url.missing };
    const location = `${url}${path.slice(1)}`;
    return { status: 307, text: location, headers: { location } };
  }
}

type Place = Pick<Visit, 'of' | 'port'>;

/** The port that a label names: by slug at an origin of its own, by the id of the environment below the relay. */
function placeOf({ label }: AskedName): Place | undefined {
  const name = portNameOf(label);
  if (name) return { of: { slug: name.slug }, port: name.port };
  const [, id, port] = /\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/([1-9]\d{0,4})$/i.exec(label) ?? [];
  return id === undefined || Number(port) > 65_535 ? undefined : { of: { id: id.toLowerCase() }, port: Number(port) };
}

const whoOf = ({ accountId, credentialId }: Visitor, isLogin: boolean): Who =>
  isLogin ? { kind: 'login', loginId: credentialId, accountId } : { kind: 'key', keyId: credentialId, accountId };

const idOf = ({ of, port, visitor }: Visit): string =>
  JSON.stringify(['id' in of && of.id, port, visitor?.accountId, visitor?.credentialId]);

function visitOf(text: string): Visit {
  const [id, port, accountId, credentialId] = JSON.parse(text) as [string, number, string | null, string | null];
  return {
    of: { id },
    port,
    visitor: accountId !== null && credentialId !== null ? { accountId, credentialId } : undefined,
  };
}

/** A key of ours; any other credential is the page's own. */
function keyOf({ authorization = '', 'x-api-key': given }: IncomingHttpHeaders): string | undefined {
  const [, bearer] = /^Bearer +(svc_\S+) *$/i.exec(authorization) ?? [];
  return bearer ?? (typeof given === 'string' && given.startsWith('svc_') ? given : undefined);
}

/** `__Host-` needs https: below `localhost` the name says less, and no page of another host can set it all the same. */
const cookieName = ({ by }: AskedName): string => (by === 'domain' ? '__Host-svc_port' : 'svc_port');

const setCookie = (asked: AskedName, { cookie, seconds }: { cookie: string; seconds: number }): string =>
  `${cookieName(asked)}=${cookie}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${asked.by === 'domain' ? '; Secure' : ''}`;

/**
 * Whether a request comes from the port's own pages, or is a person who follows a link. Ports of other environments are of
 * the same site: a cookie alone would let their pages act as the visitor.
 */
function isOfItself(asked: AskedName, { method, headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (headers.origin !== undefined && headers.origin.toLowerCase() !== originOf(headers, asked)) return false;
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

function ticketOf({ by, path }: AskedName, { method }: IncomingMessage): string | undefined {
  if (by === 'path' || (method !== 'GET' && method !== 'HEAD')) return undefined;
  return partsOfQuery(path)
    .find((part) => part.startsWith(`${ticketParameter}=`))
    ?.slice(ticketParameter.length + 1);
}

const partsOfQuery = (path: string): string[] => path.split('?').slice(1).join('?').split('&');

/** The same address again, without the ticket: it must not stay in the history, nor reach the page. */
function withoutTicket(asked: AskedName, { headers }: IncomingMessage, more: Record<string, string> = {}): PlainAnswer {
  const query = partsOfQuery(asked.path).filter((part) => part !== '' && !part.startsWith(`${ticketParameter}=`));
  const path = asked.path.split('?', 1)[0] ?? '/';
  const location = `${originOf(headers, asked)}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  return { status: 303, text: 'Come in.', headers: { location, ...more } };
}
