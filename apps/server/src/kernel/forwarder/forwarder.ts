import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ApiError } from '../base/errors.ts';
import { networkOf } from '../base/networks.ts';
import { visitorsBehind } from '../base/visitors.ts';
import { Doors } from '../http/doors.ts';
import type { Kernel } from '../kernel.ts';
import { Strangers } from '../mount/strangers.ts';
import { type GiveBack, Share } from '../share/share.ts';
import { VisitorPlaces } from '../share/visitors.ts';
import { type Loop, startLoop } from '../work/loop.ts';
import { answer, failureOf, invalid, refuse, tooMany, unreachable } from './answers.ts';
import { headersInside, headersOutside, headOf, headOfUpgrade, type ForwardedPage } from './headers.ts';
import { type AskedName, askedOf, isBrowser, ownOriginOf } from './names.ts';
import type { NameOwner, NameTarget, PlainAnswer } from './owners.ts';
import { end, isIdle, type Passage } from './passage.ts';
import { plainOf } from './plain.ts';

/** Any other `Upgrade` is an offer that may be passed over: HTTP/2 is offered by many clients (RFC 9110, 7.8). */
const isWebSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';

/** Connections inside at a time; a browser opens six, and a socket for each page. */
const limits = { total: 1_024, ofOne: 512, of: { name: 64, place: 128 } };
/** The same of visitors, who have no part in those: of a port, of all ports of an account, and in all. */
const ofVisitors = { port: 64, account: 256, total: 1_024 };
/** Connections that wait for a request with a valid name; of more, the oldest is ended. */
const mostWaiting = 256;
const waitMs = 10_000;
/** How often what is open is looked at: it ends within 10 s after its key or account may not go on. */
const lookEveryMs = 3_000;
/** Names that are looked up at once, and that wait for it: strangers must not keep the database busy. */
const lookups = { total: 8, ofOne: 8, waitingOfOne: 1_024 };
/** The callers are not known yet: all of them stand in one line. */
const strangers = '';

/** A name that is asked for, and whose it is. */
interface Found {
  owner: NameOwner;
  asked: AskedName;
}

interface Admitted {
  owner: NameOwner;
  target: NameTarget;
  page: ForwardedPage;
}

/**
 * Forwards HTTP and WebSocket to ports that cannot be reached from outside, such as those in sandboxes: one listener with
 * one set of limits. The names are their owners'.
 */
export class Forwarder {
  readonly #kernel: Pick<Kernel, 'config' | 'clock' | 'log'>;
  readonly #owners: NameOwner[] = [];
  readonly #server: Server;
  readonly #doors = new Doors();
  readonly #strangers: Strangers;
  readonly #addressOf: (request: IncomingMessage) => string;
  readonly #lookups = new Share(lookups);
  readonly #open = new Share(limits);
  readonly #visitors = new VisitorPlaces();
  readonly #passages = new Set<Passage>();
  /** Connections without a passage, since when, oldest first. */
  readonly #waiting = new Map<Socket, number>();
  /** Connections of this listener; others hand over single requests, and end their connections themselves. */
  readonly #own = new WeakSet<Socket>();
  #watching: Loop | undefined;
  #listening: Promise<boolean> | undefined;

  constructor(kernel: Pick<Kernel, 'config' | 'clock' | 'log'>) {
    this.#kernel = kernel;
    this.#strangers = new Strangers(kernel, { what: 'addresses of previews' });
    this.#addressOf = visitorsBehind(kernel.config.trustedProxies);
    // Pages inside may stream for as long as their address is valid; what is idle is ended by `#look`.
    this.#server = createServer({ requestTimeout: 0, shouldUpgradeCallback: isWebSocket }, (request, response) => {
      const found = this.#ownerOf(request);
      if (!found) answer(response, { status: 403, text: invalid });
      else this.#forward(found, request, response).catch((err: unknown) => this.#broken(found, err, response));
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#own.add(socket);
      this.#wait(socket);
      socket.once('close', () => this.#waiting.delete(socket));
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => {});
      const found = this.#ownerOf(request);
      if (!found) return refuse(socket, { status: 403, text: invalid });
      this.#upgrade(found, request, socket as Socket, head).catch((err: unknown) => {
        this.#kernel.log.debug({ err }, 'a request was not upgraded');
        refuse(socket, failureOf(found, err));
      });
    });
  }

  /** From now on the owner is asked for names; of two that take a name, the first has it. */
  register(owner: NameOwner): void {
    this.#owners.push(owner);
  }

  /** Listens, once for all owners; answers false when the port is taken. */
  listen(): Promise<boolean> {
    return (this.#listening ??= this.#listen());
  }

  async #listen(): Promise<boolean> {
    const { config, log } = this.#kernel;
    this.#watch();
    try {
      await this.#doors.open(this.#server, { port: config.previewPort, host: config.host });
      return true;
    } catch (err) {
      log.warn({ err, port: config.previewPort }, 'no previews; set SVC_PREVIEW_PORT to a free port');
      return false;
    }
  }

  /** Answers a request for a name that came to another listener of this process. */
  async serve(owner: NameOwner, asked: AskedName, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#watch();
    const found = { owner, asked };
    await this.#forward(found, request, response).catch((err: unknown) => this.#broken(found, err, response));
  }

  #watch(): void {
    this.#watching ??= startLoop(this.#kernel, {
      name: 'kernel.forwarder',
      everyMs: lookEveryMs,
      work: () => this.#look(),
    });
  }

  /** Undefined while it does not listen. */
  get port(): number | undefined {
    return (this.#server.address() as AddressInfo | null)?.port;
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    void this.#doors.close();
    this.#server.close();
    this.#server.closeAllConnections();
    for (const passage of this.#passages) end(passage);
    await this.#watching?.stop();
  }

  /** Ends what waits too long, what is idle, and what may not go on. */
  async #look(): Promise<void> {
    const now = this.#kernel.clock.monotonic();
    for (const [socket, since] of this.#waiting) if (now - since >= waitMs) socket.destroy();
    for (const passage of this.#passages) if (isIdle(passage, now)) end(passage);
    const open = Map.groupBy(this.#passages, ({ owner }) => owner);
    await Promise.all(
      [...open].map(async ([owner, own]) => {
        const valid = new Set(await owner.stillValid([...new Set(own.map(({ id }) => id))]));
        for (const passage of own) if (!valid.has(passage.id)) end(passage);
      }),
    );
  }

  /** Counts a connection among those that have nothing under way. */
  #wait(socket: Socket): void {
    this.#waiting.delete(socket);
    if (socket.destroyed || !this.#own.has(socket)) return;
    this.#waiting.set(socket, this.#kernel.clock.monotonic());
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size <= mostWaiting || !oldest) return;
    // At once, not when it has closed: the next one may come in the same turn of the loop.
    this.#waiting.delete(oldest);
    oldest.destroy();
  }

  #ownerOf({ url = '/', headers }: IncomingMessage): Found | undefined {
    const asked = askedOf(url, headers, this.#kernel.config.previewDomain);
    const owner = asked && this.#owners.find((one) => one.owns(asked));
    return owner && { owner, asked };
  }

  /** The name first: without a valid one a caller learns nothing. */
  async #admit({ owner, asked }: Found, request: IncomingMessage): Promise<Admitted | PlainAnswer> {
    const target = await this.#lookups.run(strangers, () => owner.find(asked, request));
    if (!target) return this.#refuseStranger(owner, request);
    if ('status' in target) return target;
    if (asked.by === 'path' && isBrowser(request.headers)) return toOwnOrigin(asked, request);
    const { port, cookiePrefix, visitorCookie } = target;
    return { owner, target, page: { asked, port, cookiePrefix, visitorCookie } };
  }

  #refuseStranger(owner: NameOwner, request: IncomingMessage): PlainAnswer {
    const refusal = new ApiError('forbidden', owner.invalid ?? invalid);
    const { status, message, headers } = this.#strangers.refuse(this.#addressOf(request), refusal);
    return { status, text: message, headers };
  }

  /** A place of the account whose port it is, or of its visitors; undefined when there is none for this request. */
  #place({ owner, target }: Admitted, request: IncomingMessage): GiveBack | undefined {
    const { id, accountId, place, port, visitor } = target;
    const end = (): void => void request.socket.destroy();
    if (!visitor) {
      const of = { name: `${owner.name}:${id}`, place: `${owner.name}:${place}` };
      return this.#open.take(accountId, { of, end });
    }
    const holder = visitor.accountId ?? networkOf(this.#addressOf(request));
    const groups = [
      { name: `port ${owner.name}:${place}:${port}`, most: ofVisitors.port, holder },
      { name: `account ${accountId}`, most: ofVisitors.account, holder },
      { name: 'all', most: ofVisitors.total, holder: accountId },
    ];
    return this.#visitors.take(groups, end);
  }

  /** Connects a client to the port that it may reach. */
  async #pass(admitted: Admitted, request: IncomingMessage, isUploading: () => boolean) {
    const { owner, target } = admitted;
    const { socket: client } = request;
    const { id, leftMs } = target;
    const giveBack = this.#place(admitted, request);
    if (!giveBack) return tooMany;
    const { clock } = this.#kernel;
    // What it reaches may be starting again, which takes longer than a connection without a request may wait.
    this.#waiting.delete(client);
    const inside = await target.dial().catch((error: unknown) => unreachable({ owner }, error));
    if ('status' in inside || inside.destroyed || client.destroyed) {
      if (!('status' in inside)) inside.destroy();
      giveBack();
      this.#wait(client);
      return 'status' in inside ? inside : unreachable({ owner });
    }
    inside.on('error', () => {});
    const passage: Passage = { owner, id, client, inside, isUploading, bytes: 0, since: clock.monotonic() };
    const cancel = leftMs === undefined ? () => {} : clock.after(leftMs, () => end(passage));
    const over = (): void => void inside.destroy();
    this.#passages.add(passage);
    client.once('close', over);
    inside.once('close', () => {
      cancel();
      giveBack();
      client.off('close', over);
      this.#passages.delete(passage);
    });
    return passage;
  }

  async #forward(found: Found, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const admitted = await this.#admit(found, request);
    if ('status' in admitted) return answer(response, admitted);
    const { page } = admitted;
    const client = request.socket;
    const passage = await this.#pass(admitted, request, () => !request.complete);
    if ('status' in passage) return answer(response, passage);
    const inner = httpRequest({
      method: request.method,
      path: page.asked.path,
      headers: headersInside(request.headers, page),
      createConnection: () => plainOf(passage.inside),
    });
    response.once('close', () => {
      passage.inside.destroy();
      this.#wait(client);
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      inner.once('response', resolve).once('error', reject);
      inner.once('upgrade', () => reject(new Error('the page changed the protocol, and was not asked to')));
    });
    // A body that the inner page does not read is no failure: the page may have answered already.
    pipeline(request, inner).catch(() => {});
    const said = await answered;
    response.writeHead(said.statusCode ?? 502, headersOutside(said, request, page));
    await pipeline(said, response).catch(() => response.destroy());
  }

  /** WebSocket only, and a tunnel only once the page inside has agreed: until then it is a request like others. */
  async #upgrade(found: Found, request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const admitted = await this.#admit(found, request);
    if ('status' in admitted) return refuse(socket, admitted);
    const { page } = admitted;
    const passage = await this.#pass(admitted, request, () => false);
    if ('status' in passage) return refuse(socket, passage);
    const { inside } = passage;
    const kept = headersInside(request.headers, page);
    const headers = { ...kept, connection: 'Upgrade', upgrade: 'websocket' };
    const inner = httpRequest({ path: page.asked.path, headers, createConnection: () => plainOf(inside) });
    inside.once('close', () => {
      // The last bytes still go out; a client that does not take them waits no longer than others.
      socket.destroySoon();
      this.#wait(socket);
    });
    const decline = (): void => {
      refuse(socket, unreachable(found));
      inside.destroy();
    };
    inner.once('error', decline);
    // A refusal of the page goes to the client: it may say to log in, or redirect.
    inner.once('response', (said: IncomingMessage) => {
      inner.off('error', decline).on('error', () => {});
      socket.write(headOf(said.statusCode ?? 502, headersOutside(said, request, page)));
      pipeline(said, socket).catch(() => socket.destroy());
    });
    inner.once('upgrade', (answered: IncomingMessage, tunnel: Duplex, first: Buffer) => {
      inner.off('error', decline).on('error', () => {});
      socket.write(headOfUpgrade(answered));
      socket.write(first);
      tunnel.write(head);
      tunnel.pipe(socket);
      socket.pipe(tunnel);
    });
    inner.end();
  }

  #broken(found: Found, err: unknown, response: ServerResponse): void {
    this.#kernel.log.debug({ err }, 'a request was not forwarded');
    if (response.headersSent) response.destroy();
    else answer(response, failureOf(found, err));
  }
}

function toOwnOrigin(asked: AskedName, { headers }: IncomingMessage): PlainAnswer {
  const location = ownOriginOf(asked, headers);
  if (location !== undefined) return { status: 307, text: location, headers: { location } };
  return { status: 403, text: 'Browsers on other machines need SVC_PREVIEW_DOMAIN: an origin for each preview.' };
}
