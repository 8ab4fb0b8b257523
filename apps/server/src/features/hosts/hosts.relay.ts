import { hash, randomUUID, webcrypto } from 'node:crypto';
import type { Kernel } from '../../kernel/kernel.ts';
import { messageKind } from '../../kernel/peers/gateways.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import type { HostStream, Presence } from './hosts.presence.ts';
import { findAnswered, findCarrier, insertCall, readResult, storeResult, takeFrame } from './hosts.sql.ts';

/** A host's report. */
interface HostResult {
  ok: boolean;
  result?: unknown;
  error?: string | undefined;
}

/** How a call ends. */
export type CallOutcome =
  | { kind: 'result'; result: HostResult }
  | { kind: 'offline' | 'busy' | 'disconnected' | 'timeout' | 'cancelled' };

/** A call that was made. */
export interface Call {
  reqId: string;
  outcome: CallOutcome;
  /** The frame as the host gets it: its length and SHA-256; undefined when it was not sent. */
  frame?: { readonly length: number; readonly sha256: () => string };
}

/** A call as its caller makes it. */
interface CallRequest {
  accountId: string;
  deviceId: string;
  timeoutMs: number;
  /** The `exec` frame without `req_id`. */
  frame: Record<string, unknown>;
  /** Its length, about: one that its host has no room for is refused before anything is made of it. */
  bytes: number;
  /** Calls the function when the caller goes away; answers how to forget it. */
  whenGone: (handler: () => void) => () => void;
}

/** Further calls on one host are refused (design: hosts). */
const mostInFlight = 16;
/** A result that comes later than this after its deadline finds no trace of the call. */
const lateMs = 5 * 60_000;
const mostFinished = 10_000;
const checkCarriersMs = 2_000;
const drainStepMs = 20;

/** Messages between the gateway of a caller and the one that holds the stream of its host. */
const messages = {
  carry: messageKind<{ req_id: string; timeout_ms: number }>('hosts.carry'),
  refused: messageKind<{ req_id: string; kind: 'busy' | 'offline' }>('hosts.refused'),
  result: messageKind<{ req_id: string }>('hosts.result'),
  /** The call is over. */
  done: messageKind<Done>('hosts.done'),
  /** The stream is gone. */
  lost: messageKind<{ req_id: string }>('hosts.lost'),
};

interface Pending {
  accountId: string;
  deviceId: string;
  carrierId: string;
  /** A row stands for it, and decides which result was first: it may be posted at any gateway. */
  stored: boolean;
  settle(outcome: CallOutcome): void;
}

/** Tells the carrier that a call is over. */
interface Done {
  req_id: string;
  account_id: string;
  device_id: string;
  cancel: boolean;
}

/** A frame of 12 MiB takes 26 ms: a long one is hashed beside the event loop, a short one when it is asked for. */
const mostAtOnce = 256 * 1024;

async function digestOf(text: string): Promise<() => string> {
  if (text.length <= mostAtOnce) return () => hash('sha256', text);
  const digest = Buffer.from(await webcrypto.subtle.digest('SHA-256', Buffer.from(text))).toString('hex');
  return () => digest;
}

/**
 * Carries calls to hosts and results back, each at most once. The caller's gateway (origin) keeps the pending call; the
 * one that holds the stream (carrier) writes the frame. With both in one process and no peers nothing touches the
 * database; otherwise a row carries frame and result, and the bus wakes the other side.
 */
export class Relay {
  readonly #kernel: Kernel;
  readonly #presence: Presence;
  readonly #pending = new Map<string, Pending>();
  readonly #finished = new Map<string, { accountId: string; deviceId: string; until: number }>();
  #checking: Loop | undefined;

  constructor(kernel: Kernel, presence: Presence) {
    this.#kernel = kernel;
    this.#presence = presence;
  }

  /** Listens to the other gateways. */
  start(): void {
    const { gateways } = this.#kernel;
    this.#presence.onLost((host) => this.#onLost(host));
    gateways.onMessage(messages.carry, (call) => this.#onCarry(call));
    gateways.onMessage(messages.result, ({ req_id: reqId }) => this.#onResult(reqId));
    gateways.onMessage(messages.done, (done) => this.#onDone(done));
    gateways.onMessage(messages.lost, ({ req_id: reqId }) => this.#lose(reqId));
    gateways.onMessage(messages.refused, ({ req_id: reqId, kind }) => this.#finish(reqId, { kind }));
    const work = () => this.#checkCarriers();
    this.#checking = startLoop(this.#kernel, { name: 'hosts.carriers', everyMs: checkCarriersMs, work });
  }

  /** Makes a call and waits for how it ends. */
  async call(request: CallRequest): Promise<Call> {
    const reqId = randomUUID();
    let isGone = false;
    const forget = request.whenGone(() => {
      isGone = true;
      this.#finish(reqId, { kind: 'cancelled' });
    });
    try {
      return await this.#call(reqId, request, () => isGone);
    } finally {
      forget();
    }
  }

  async #call(reqId: string, request: CallRequest, isGone: () => boolean): Promise<Call> {
    const { gateways, clock } = this.#kernel;
    const { accountId, deviceId, timeoutMs } = request;
    const local = this.#presence.local(accountId, deviceId);
    const carrierId = local ? gateways.id : await this.#findRemote(accountId, deviceId);
    if (carrierId === undefined) return { reqId, outcome: { kind: 'offline' } };
    if (isGone()) return { reqId, outcome: { kind: 'cancelled' } };
    if (local && !local.stream.hasRoom(request.bytes))
      return { reqId, outcome: { kind: local.stream.closed ? 'offline' : 'busy' } };

    const { promise, resolve } = Promise.withResolvers<CallOutcome>();
    const stored = !local || gateways.hasPeers();
    const call: Pending = { accountId, deviceId, carrierId, stored, settle: resolve };
    this.#pending.set(reqId, call);
    const cancelTimer = clock.after(timeoutMs, () => this.#finish(reqId, { kind: 'timeout' }));
    try {
      const frame = JSON.stringify({ ...request.frame, req_id: reqId });
      const digest = digestOf(frame);
      await this.#dispatch(reqId, call, frame, timeoutMs);
      return { reqId, outcome: await promise, frame: { length: frame.length, sha256: await digest } };
    } finally {
      cancelTimer();
      this.#pending.delete(reqId);
    }
  }

  /** Takes a host's result; false when this device has no such call. A late one is accepted and dropped. */
  async post(posted: { reqId: string; accountId: string; deviceId: string }, result: HostResult): Promise<boolean> {
    const { sql, gateways } = this.#kernel;
    const { reqId, accountId, deviceId } = posted;
    const waiting = this.#pending.get(reqId);
    const known = waiting ?? this.#finished.get(reqId);
    if (known && (known.accountId !== accountId || known.deviceId !== deviceId)) return false;
    if (known && !waiting?.stored) {
      this.#finish(reqId, { kind: 'result', result });
      return true;
    }
    const stored = await storeResult(sql, posted, JSON.stringify(result));
    if (stored && !stored.late) {
      if (waiting) this.#finish(reqId, { kind: 'result', result });
      else await gateways.send(sql, stored.originId, messages.result, { req_id: reqId });
    }
    return stored !== undefined;
  }

  /** Waits until no caller of this gateway waits, at most `ms`; then those that do are told that the host is gone. */
  async drain(ms: number): Promise<void> {
    const { clock } = this.#kernel;
    const until = clock.monotonic() + ms;
    while (this.#pending.size > 0 && clock.monotonic() < until) {
      const { promise, resolve } = Promise.withResolvers<void>();
      clock.after(drainStepMs, resolve);
      await promise;
    }
    const stopped = this.#checking?.stop();
    for (const reqId of this.#pending.keys()) this.#finish(reqId, { kind: 'disconnected' });
    await stopped;
  }

  /**
   * The other gateway that holds the device's stream. A presence row may outlive its stream: our own by a moment, that
   * of a gateway that was killed by its lease.
   */
  async #findRemote(accountId: string, deviceId: string): Promise<string | undefined> {
    const { gateways, sql } = this.#kernel;
    const carrierId = await findCarrier(sql, accountId, deviceId);
    if (carrierId === undefined || carrierId === gateways.id) return undefined;
    return (await gateways.isLive(sql, carrierId)) ? carrierId : undefined;
  }

  /** Hands a call to its carrier: this process, or the gateway that holds the stream. */
  async #dispatch(reqId: string, call: Pending, frame: string, timeoutMs: number): Promise<void> {
    const { gateways, sql } = this.#kernel;
    const { accountId, deviceId, carrierId } = call;
    const here = carrierId === gateways.id;
    if (call.stored) {
      const lifetimeMs = timeoutMs + lateMs;
      const row = { reqId, accountId, deviceId, originId: gateways.id, carrierId, lifetimeMs };
      await insertCall(sql, { ...row, frame: here ? null : frame });
    }
    if (!here) await gateways.send(sql, carrierId, messages.carry, { req_id: reqId, timeout_ms: timeoutMs });
    else if (this.#pending.has(reqId)) {
      const host = this.#presence.local(accountId, deviceId);
      const refusal = host ? this.#carry(host, { reqId, originId: gateways.id, frame, timeoutMs }) : 'offline';
      if (refusal) this.#finish(reqId, { kind: refusal });
    }
  }

  /** Writes a frame to a stream that this gateway holds; answers why it was not. */
  #carry(
    host: HostStream,
    { reqId, originId, frame, timeoutMs }: { reqId: string; originId: string; frame: string; timeoutMs: number },
  ): 'busy' | 'offline' | undefined {
    const now = this.#kernel.clock.monotonic();
    for (const [id, call] of host.inFlight) if (call.until < now) host.inFlight.delete(id);
    if (host.inFlight.size >= mostInFlight) return 'busy';
    const takeBack = host.stream.offer('exec', frame);
    if (!takeBack) return host.stream.closed ? 'offline' : 'busy';
    host.inFlight.set(reqId, { originId, until: now + timeoutMs, takeBack });
    return undefined;
  }

  #finish(reqId: string, outcome: CallOutcome): void {
    const call = this.#pending.get(reqId);
    if (!call) return;
    this.#pending.delete(reqId);
    if (this.#finished.size >= mostFinished) this.#finished.delete(this.#finished.keys().next().value as string);
    const until = this.#kernel.clock.monotonic() + lateMs;
    this.#finished.set(reqId, { accountId: call.accountId, deviceId: call.deviceId, until });
    this.#release(call, reqId, outcome.kind === 'cancelled');
    call.settle(outcome);
  }

  /** Frees the host's slot, wherever its stream is; a cancelled call is stopped there. */
  #release(call: Pending, reqId: string, cancel: boolean): void {
    const { gateways, sql, log } = this.#kernel;
    const done: Done = { req_id: reqId, account_id: call.accountId, device_id: call.deviceId, cancel };
    if (call.carrierId === gateways.id) this.#onDone(done);
    else {
      gateways
        .send(sql, call.carrierId, messages.done, done)
        .catch((err: unknown) => log.warn({ err }, 'the end of a call was not passed on'));
    }
  }

  /** Another gateway's caller wants a host whose stream is here. */
  async #onCarry({ req_id: reqId, timeout_ms: timeoutMs }: { req_id: string; timeout_ms: number }): Promise<void> {
    const { gateways, sql } = this.#kernel;
    const taken = await takeFrame(sql, reqId, gateways.id);
    if (!taken) return;
    const { account_id: accountId, device_id: deviceId, origin_id: originId, frame } = taken;
    const host = this.#presence.local(accountId, deviceId);
    const refusal = host ? this.#carry(host, { reqId, originId, frame, timeoutMs }) : 'offline';
    if (refusal) await gateways.send(sql, originId, messages.refused, { req_id: reqId, kind: refusal });
  }

  async #onResult(reqId: string): Promise<void> {
    if (!this.#pending.has(reqId)) return;
    const text = await readResult(this.#kernel.sql, reqId);
    if (text !== undefined) this.#finish(reqId, { kind: 'result', result: JSON.parse(text) as HostResult });
  }

  #onDone(done: Done): void {
    const host = this.#presence.local(done.account_id, done.device_id);
    const call = host?.inFlight.get(done.req_id);
    if (!host || !call) return;
    host.inFlight.delete(done.req_id);
    // A slow host need not hear of a call that it was not sent yet.
    if (done.cancel && !call.takeBack()) host.stream.send('exec_cancel', { req_id: done.req_id });
  }

  /** The stream is gone: tells the callers that wait for its calls, here or on another gateway. */
  #onLost(host: HostStream): void {
    const { gateways, sql, log } = this.#kernel;
    for (const [reqId, { originId }] of host.inFlight) {
      if (originId === gateways.id) this.#lose(reqId);
      else {
        gateways
          .send(sql, originId, messages.lost, { req_id: reqId })
          .catch((err: unknown) => log.warn({ err }, 'the loss of a stream was not passed on'));
      }
    }
  }

  /** The host is gone: 502, unless its result was accepted at another gateway and is on its way here. */
  #lose(reqId: string): void {
    const { sql } = this.#kernel;
    const stored = this.#pending.get(reqId)?.stored ?? false;
    const result = stored ? readResult(sql, reqId).catch(() => undefined) : Promise.resolve(undefined);
    void result.then((text) => {
      const outcome: CallOutcome =
        text === undefined ? { kind: 'disconnected' } : { kind: 'result', result: JSON.parse(text) as HostResult };
      this.#finish(reqId, outcome);
    });
  }

  /** A gateway that was killed tells nobody: its lease does. Nor does a message that was lost: the row has the result. */
  async #checkCarriers(): Promise<void> {
    const { gateways, sql, clock } = this.#kernel;
    const now = clock.monotonic();
    for (const [reqId, call] of this.#finished) {
      if (call.until > now) break;
      this.#finished.delete(reqId);
    }
    const stored = [...this.#pending].flatMap(([reqId, call]) => (call.stored ? [reqId] : []));
    if (stored.length > 0) for (const reqId of await findAnswered(sql, stored)) await this.#onResult(reqId);
    const carriers = new Set([...this.#pending.values()].map((call) => call.carrierId));
    carriers.delete(gateways.id);
    for (const carrierId of carriers) {
      if (await gateways.isLive(sql, carrierId)) continue;
      for (const [reqId, call] of this.#pending) if (call.carrierId === carrierId) this.#lose(reqId);
    }
  }
}
