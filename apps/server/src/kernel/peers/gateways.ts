import { randomUUID } from 'node:crypto';
import type { Bus } from './bus.ts';
import type { Clock } from '../base/clock.ts';
import type { Db, Sql } from '../db/db.ts';
import { ApiError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Pulse } from '../work/pulse.ts';
import {
  diedNow,
  endLease,
  idleLimitMs,
  markMissed,
  type PartName,
  type PartPresence,
  RelayWatch,
  renewLease,
  takeMissed,
  WorkWatch,
  workedMs,
} from './parts.ts';

const renewEveryMs = 2_000;
const echoLimitMs = 5_000;
/** Half of a lease: what is begun within it is done before anybody may count this gateway as gone. */
const provenMs = 5_000;
/** A renewal may come this late in a gateway that lives. */
const deathSlackMs = 1_000;
/** A revocation answers within this even when a gateway was killed a moment ago (design: kernel). */
const announceTimeoutMs = 1_000;
const joined = 'gateways.joined';

/** A kind of message from gateway to gateway, and what it carries. */
interface MessageKind<M> {
  readonly type: string;
  /** Stands for `M` in types; never set. */
  readonly carries?: M;
}

/** Names a kind of message: sender and receiver use the same value, so they agree on what it carries. */
export const messageKind = <M>(type: string): MessageKind<M> => ({ type });

/** Comes back to who sent it. */
const echo = messageKind<null>('echo');
const acknowledged = messageKind<{ nonce: string; from: string }>('ack');

interface Message {
  type: string;
  payload: unknown;
}

interface Announcement {
  nonce: string;
  replyTo: string;
  payload: unknown;
}

/** The parts of the process that gateways use. */
interface Resources {
  sql: Sql;
  bus: Bus;
  clock: Clock;
  log: Log;
  /** Unset: it does nothing that is due by the clock. */
  pulse?: Pulse;
}

/**
 * The processes that serve this database, each with a lease. They hear of changes to what they cache through
 * `announce`, which answers only when every live one has acted.
 */
export class Gateways {
  /** Id of this process, new at each start. */
  readonly id: string = randomUUID();
  readonly #resources: Resources;
  readonly #leased: boolean;
  readonly #handlers = new Map<string, (payload: unknown) => void | Promise<void>>();
  readonly #announced = new Map<string, ((payload: unknown) => void)[]>();
  readonly #waiting = new Map<string, (gatewayId: string) => void>();
  readonly #missedHandlers: (() => void)[] = [];
  readonly #lostHandlers: ((before: number) => void)[] = [];
  /** Gateways whose lease ran out and whose rows are still there. */
  #dead = new Set<string>();
  #lastEcho: number;
  #peers = 0;
  #stopRenewing = (): void => {};
  #renewing: Promise<void> | undefined;
  /** What this process is for; unknown until it has its role. */
  #part: PartName | null = null;
  readonly #watch = new WorkWatch(renewEveryMs);
  readonly #relays = new RelayWatch(renewEveryMs);
  #workers = 0;
  /** When the last renewal began that the guard agreed to. */
  #provenAt = -Infinity;
  #guard: () => Promise<string | undefined> = () => Promise.resolve(undefined);
  #ended: string | undefined;
  #onEnded: (reason: string) => void = () => {};

  private constructor(resources: Resources, leased: boolean) {
    this.#resources = resources;
    this.#leased = leased;
    this.#lastEcho = resources.clock.monotonic();
  }

  /** Joins the gateways of a database. Without a `lease` (a command) it can announce, but serves nobody. */
  static async join(options: Resources & { lease: boolean }): Promise<Gateways> {
    const { lease, ...resources } = options;
    const gateways = new Gateways(resources, lease);
    await gateways.#listen();
    if (lease) {
      await gateways.onAnnounce(joined, () => {
        gateways.#peers = Math.max(gateways.#peers, 1);
      });
      // The first lease is had or nothing begins: a rotation of the master key holds the table, and counts on it.
      await gateways.#renewOrThrow();
      await gateways.announce(joined, null);
      gateways.#stopRenewing = resources.clock.every(renewEveryMs, () => gateways.#renewOnce());
    }
    return gateways;
  }

  /** False while a cached entry may be stale: the bus is down, or our own echo has not come back for 5 s. */
  cachesAreTrusted(): boolean {
    const { bus, clock } = this.#resources;
    return this.#leased && this.#ended === undefined && bus.isUp() && clock.monotonic() - this.#lastEcho < echoLimitMs;
  }

  /** Calls `handler` when announcements may have been missed, before caches are trusted again: forget them there. */
  onMissed(handler: () => void): void {
    this.#missedHandlers.push(handler);
  }

  /**
   * Asks `guard` at each renewal from now on, the first time here. It answers why this process must not go on, when it
   * must not: another state of the installation began while it was frozen or cut off. `ended` is called once then, no
   * lease is renewed any more, and `prove` throws.
   */
  async guard(guard: () => Promise<string | undefined>, ended: (reason: string) => void): Promise<void> {
    this.#guard = guard;
    this.#onEnded = ended;
    await this.renew();
  }

  /** Whether the lease was renewed, and the guard asked, a moment ago: what the process holds in memory is still true. */
  isProven(): boolean {
    if (!this.#leased) return true;
    return this.#ended === undefined && this.#resources.clock.monotonic() - this.#provenAt < provenMs;
  }

  /**
   * Waits for a renewal when the last one is long ago. Throws 503 when it fails: a process that was frozen must not trust its
   * memory.
   */
  async prove(): Promise<void> {
    if (this.isProven()) return;
    const asked = this.#resources.clock.monotonic();
    // The first may have begun before the process was frozen.
    for (let tries = 0; tries < 2 && this.#ended === undefined && this.#provenAt < asked; tries += 1) {
      this.#renewOnce();
      await this.#renewing;
    }
    if (this.#ended !== undefined || this.#provenAt < asked) throw notProven();
  }

  /**
   * Calls `handler` when messages may never come: the bus was down, or a gateway died, maybe between a commit and its
   * message. They were sent, or were to be, before the instant that `handler` is given (`clock.monotonic()`): what
   * follows messages since then misses none.
   */
  onLost(handler: (before: number) => void): void {
    this.#lostHandlers.push(handler);
  }

  /** Whether another gateway serves this database, as of the last 2 s. */
  hasPeers(): boolean {
    return this.#peers > 0;
  }

  /** False when nobody else can hear the bus, as of the last 2 s. Without a lease of its own a command does not know. */
  mayHavePeers(): boolean {
    return !this.#leased || this.#peers > 0;
  }

  /** Says with the lease what this process is for, and from now on when its tickers turned. */
  async takePart(part: PartName): Promise<void> {
    this.#part = part;
    await this.renew();
  }

  /** Renews the lease now. */
  async renew(): Promise<void> {
    // One under way may have begun before what the caller wants to be in it.
    await this.#renewing;
    await this.#renewOrThrow();
  }

  /** For how long nobody has done what is due by the clock, as of the last 2 s; undefined when that is not known. */
  idleMs(): number | undefined {
    return this.#watch.silentMs(this.#resources.clock.monotonic());
  }

  /** Whether nobody has done what is due by the clock for 40 s; undefined when that is not known. */
  isIdle(): boolean | undefined {
    const ms = this.idleMs();
    return ms === undefined ? undefined : ms >= idleLimitMs;
  }

  /** Processes whose tickers turned within the last 40 s, as of the last 2 s. */
  workers(): number {
    return this.#workers;
  }

  /** Relays that hold a lease, as of the last 2 s. */
  relays(): number {
    return this.#relays.live;
  }

  /** Whether a relay of its own, where the platform has had one within a day, is there; missing after 40 s. */
  relayPresence(): PartPresence | undefined {
    return this.#relays.presence(this.#resources.clock.monotonic());
  }

  /** Whether this process can do what it is for, as far as that hangs on a worker; undefined: it does not. */
  work(): { ok: boolean; error?: string } | undefined {
    const works = this.#part === 'all' || this.#part === 'worker';
    if (works && this.#standingMs() >= idleLimitMs && this.idleMs() !== undefined)
      return { ok: false, error: 'the tickers of this process stand: what is due by the clock waits' };
    if (this.#part === 'gateway' && this.isIdle())
      return { ok: false, error: 'no worker for 40 s: what is due by the clock waits' };
    return this.#part === 'gateway' || this.#part === 'worker' ? { ok: true } : undefined;
  }

  /** Whether the gateway `id` has a live lease. */
  async isLive(db: Db, id: string): Promise<boolean> {
    const rows = await db`select 1 from kernel.gateways where id = ${id} and lease_until > now()`;
    return rows.length > 0;
  }

  /** Tells every gateway, this one included, and waits for all live ones; at most 1 s. */
  async announce(topic: string, payload: unknown): Promise<void> {
    const { sql, bus, clock, log } = this.#resources;
    // `joined` tells other gateways of a new peer; a gateway is not its own peer.
    if (topic !== joined) this.#act(topic, payload);
    const missing = new Set(await liveGateways(sql, this.id));
    if (missing.size === 0) return;
    const nonce = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(nonce, (from) => {
      missing.delete(from);
      if (missing.size === 0) resolve();
    });
    const cancel = clock.after(announceTimeoutMs, resolve);
    const sent = bus.publish(sql, topic, { nonce, replyTo: this.id, payload } satisfies Announcement);
    await Promise.race([sent.then(() => promise), promise]);
    cancel();
    this.#waiting.delete(nonce);
    if (missing.size === 0) return;
    // The bus may be broken on our side alone: those who live learn it from their own row, at their next renewal.
    log.warn({ topic, missing: [...missing] }, 'gateways did not acknowledge');
    await markMissed(sql, [...missing]);
  }

  /** Acts on what is announced under `topic`, by any gateway. An acknowledgement stands for all handlers of the topic. */
  async onAnnounce(topic: string, handler: (payload: unknown) => void): Promise<void> {
    const { sql, bus } = this.#resources;
    const known = this.#announced.get(topic);
    if (known) return void known.push(handler);
    this.#announced.set(topic, [handler]);
    await bus.subscribe(topic, async (message) => {
      const { nonce, replyTo, payload } = message as Announcement;
      if (replyTo === this.id) return;
      this.#act(topic, payload);
      await this.send(sql, replyTo, acknowledged, { nonce, from: this.id });
    });
  }

  /** Sends to one gateway. */
  send<M>(db: Db, gatewayId: string, { type }: MessageKind<M>, payload: M): Promise<void> {
    return this.#resources.bus.publish(db, `gateway.${gatewayId}`, { type, payload } satisfies Message);
  }

  /** Handles messages of this kind to this gateway. */
  onMessage<M>({ type }: MessageKind<M>, handler: (payload: M) => void | Promise<void>): void {
    this.#handlers.set(type, (payload) => handler(payload as M));
  }

  /** Gives the lease up. */
  async close(): Promise<void> {
    const { sql, log } = this.#resources;
    this.#stopRenewing();
    // One under way would bring the lease back.
    await this.#renewing;
    if (!this.#leased) return;
    try {
      await endLease(sql, this.id);
    } catch (err) {
      log.warn({ err }, 'the lease was not given up; it ends by itself');
    }
  }

  /** A process that was frozen, or cut off from its database, did not turn its tickers meanwhile: it counts anew. */
  #forgiveFrozen(): void {
    if (this.idleMs() === undefined) this.#resources.pulse?.restart();
  }

  #standingMs(): number {
    return this.#resources.pulse?.slowest().ms ?? 0;
  }

  async #listen(): Promise<void> {
    const { bus, clock } = this.#resources;
    bus.onRestored(() => {
      this.#onMissed();
      this.#onLost(clock.monotonic());
      // Much may have happened meanwhile: checks that this process still belongs to the installation.
      if (this.#provenAt > -Infinity) this.#renewOnce();
    });
    this.onMessage(echo, () => {
      if (clock.monotonic() - this.#lastEcho >= echoLimitMs) this.#onMissed();
      this.#lastEcho = clock.monotonic();
    });
    this.onMessage(acknowledged, ({ nonce, from }) => this.#waiting.get(nonce)?.(from));
    await bus.subscribe(`gateway.${this.id}`, (message) => {
      const { type, payload } = message as Message;
      return this.#handlers.get(type)?.(payload);
    });
  }

  #act(topic: string, payload: unknown): void {
    for (const handler of this.#announced.get(topic) ?? []) handler(payload);
  }

  #end(reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#stopRenewing();
    this.#onMissed();
    this.#onEnded(reason);
  }

  #onMissed(): void {
    for (const handler of this.#missedHandlers) handler();
  }

  #onLost(before: number): void {
    for (const handler of this.#lostHandlers) handler(before);
  }

  /** Not while a renewal is under way: a connection that hangs must not collect them. */
  #renewOnce(): void {
    if (this.#ended !== undefined) return;
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
  }

  async #renew(): Promise<void> {
    try {
      await this.#renewOrThrow();
    } catch (err) {
      this.#resources.log.warn({ err }, 'gateway lease was not renewed');
    }
  }

  async #renewOrThrow(): Promise<void> {
    const { sql, clock, log } = this.#resources;
    const began = clock.monotonic();
    this.#forgiveFrozen();
    const ownMs = this.#part === 'all' || this.#part === 'worker' ? this.#standingMs() : null;
    const others = await renewLease(sql, { id: this.id, part: this.#part, worked_ms: ownMs });
    // After the lease, never before it: what changes without live gateways changes no more now.
    const reason = await this.#guard();
    if (reason !== undefined) return this.#end(reason);
    this.#provenAt = began;
    this.#peers = others.filter(({ live }) => live).length;
    const all = [...others, { live: true, part: this.#part, worked_ms: ownMs }];
    this.#forgiveFrozen();
    this.#watch.look(clock.monotonic(), workedMs(all));
    this.#relays.look(clock.monotonic(), all);
    this.#workers = all.filter((one) => (workedMs([one]) ?? Infinity) < idleLimitMs).length;
    const dead = others.filter(diedNow);
    const died = dead.filter(({ id }) => !this.#dead.has(id));
    this.#dead = new Set(dead.map(({ id }) => id));
    // It lived until its last renewal, and died before the next one was due.
    const lived = Math.min(...died.map(({ silent_ms }) => silent_ms)) - renewEveryMs - deathSlackMs;
    for (const { id: gone, part } of died)
      log.warn({ gone, part }, 'a process of the platform renews its lease no more');
    if (died.length > 0) this.#onLost(clock.monotonic() - lived);
    if (await takeMissed(sql, this.id)) this.#onMissed();
    await this.send(sql, this.id, echo, null);
  }
}

/** The refusal of a request at an unproven gateway. */
export const notProven = (): ApiError =>
  new ApiError('unavailable', 'this gateway has lost touch with its database; try again shortly', {
    headers: { 'retry-after': '1' },
  });

/** Ids of gateways with a live lease, but for `except`. */
export async function liveGateways(db: Db, except: string | null = null): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from kernel.gateways where id is distinct from ${except}::uuid and lease_until > now()`;
  return rows.map((row) => row.id);
}
