import { randomUUID } from 'node:crypto';
import type { Kernel } from '../../kernel/context.ts';
import type { HostStream, Presence } from './hosts.presence.ts';
import { findCarrier, insertCall, readResult, storeResult, takeFrame } from './hosts.sql.ts';

/** What a host reports. */
export interface ExecResult {
  ok: boolean;
  result?: unknown;
  error?: string | undefined;
}

/** How a call ends. */
export type Outcome =
  | { kind: 'result'; result: ExecResult }
  | { kind: 'offline' | 'busy' | 'disconnected' | 'timeout' | 'cancelled' };

/** A call as its caller makes it. */
export interface CallRequest {
  accountId: string;
  deviceId: string;
  timeoutMs: number;
  /** The `exec` frame without `req_id`. */
  frame: Record<string, unknown>;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
}

/** Carries calls to hosts and results back, each at most once. */
export interface Relay {
  call(request: CallRequest): Promise<{ reqId: string; outcome: Outcome }>;
  /** Takes a host's result; false when this device has no such call. A late one is accepted and dropped. */
  post(call: { reqId: string; accountId: string; deviceId: string }, result: ExecResult): Promise<boolean>;
  start(): void;
  /** Waits until no caller of this gateway waits, at most `ms`; then those that do are told that the host is gone. */
  drain(ms: number): Promise<void>;
}

/** Further calls on one host are refused (design: hosts). */
const mostInFlight = 16;
/** A result that comes later than this after its deadline finds no trace of the call. */
const lateMs = 5 * 60_000;
const mostFinished = 10_000;
const checkCarriersMs = 2_000;
const message = {
  carry: 'hosts.carry',
  refused: 'hosts.refused',
  result: 'hosts.result',
  done: 'hosts.done',
  lost: 'hosts.lost',
};

interface Pending {
  accountId: string;
  deviceId: string;
  carrierId: string;
  /** A row stands for it, and decides which result was first: it may be posted at any gateway. */
  stored: boolean;
  settle(outcome: Outcome): void;
}

/**
 * Makes the relay of this process. The caller's gateway (origin) keeps the pending call; the one that holds the stream
 * (carrier) writes the frame. With both in one process and no peers nothing touches the database; otherwise a row
 * carries frame and result, and the bus wakes the other side.
 */
export function createRelay(kernel: Kernel, presence: Presence): Relay {
  const { sql, gateways, clock, log } = kernel;
  const pending = new Map<string, Pending>();
  const finished = new Map<string, { accountId: string; deviceId: string; until: number }>();

  /** Writes a frame to a stream that this gateway holds. */
  function carry(
    host: HostStream,
    reqId: string,
    originId: string,
    frame: string,
    timeoutMs: number,
  ): Outcome | undefined {
    const now = clock.monotonic();
    for (const [id, call] of host.inFlight) if (call.until < now) host.inFlight.delete(id);
    if (host.inFlight.size >= mostInFlight) return { kind: 'busy' };
    host.inFlight.set(reqId, { originId, until: now + timeoutMs });
    if (host.stream.sendText('exec', frame)) return undefined;
    host.inFlight.delete(reqId);
    return { kind: 'offline' };
  }

  function finish(reqId: string, outcome: Outcome): void {
    const call = pending.get(reqId);
    if (!call) return;
    pending.delete(reqId);
    if (finished.size >= mostFinished) finished.delete(finished.keys().next().value as string);
    finished.set(reqId, { accountId: call.accountId, deviceId: call.deviceId, until: clock.monotonic() + lateMs });
    release(call, reqId, outcome.kind === 'cancelled');
    call.settle(outcome);
  }

  /** Frees the host's slot, wherever its stream is; a cancelled call is stopped there. */
  function release(call: Pending, reqId: string, cancel: boolean): void {
    if (call.carrierId === gateways.id) {
      const host = presence.local(call.accountId, call.deviceId);
      if (host?.inFlight.delete(reqId) && cancel) host.stream.send('exec_cancel', { req_id: reqId });
      return;
    }
    const { accountId, deviceId } = call;
    gateways
      .send(sql, call.carrierId, message.done, { req_id: reqId, account_id: accountId, device_id: deviceId, cancel })
      .catch((err: unknown) => log.warn({ err }, 'the end of a call was not passed on'));
  }

  async function call(request: CallRequest): Promise<{ reqId: string; outcome: Outcome }> {
    const reqId = randomUUID();
    const { accountId, deviceId, timeoutMs, signal } = request;
    const local = presence.local(accountId, deviceId);
    const carrierId = local ? gateways.id : await findCarrier(sql, accountId, deviceId);
    if (carrierId === undefined || (!local && carrierId === gateways.id))
      return { reqId, outcome: { kind: 'offline' } };
    if (signal.aborted) return { reqId, outcome: { kind: 'cancelled' } };

    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const stored = !local || gateways.hasPeers();
    pending.set(reqId, { accountId, deviceId, carrierId, stored, settle: resolve });
    const cancelTimer = clock.after(timeoutMs, () => finish(reqId, { kind: 'timeout' }));
    const gone = (): void => finish(reqId, { kind: 'cancelled' });
    signal.addEventListener('abort', gone, { once: true });
    try {
      const frame = JSON.stringify({ ...request.frame, req_id: reqId });
      if (stored) {
        const lifetimeMs = timeoutMs + lateMs;
        const row = { reqId, accountId, deviceId, originId: gateways.id, carrierId, lifetimeMs };
        await insertCall(sql, { ...row, frame: local ? null : frame });
      }
      if (!local) await gateways.send(sql, carrierId, message.carry, { req_id: reqId, timeout_ms: timeoutMs });
      else if (pending.has(reqId)) {
        const refusal = carry(local, reqId, gateways.id, frame, timeoutMs);
        if (refusal) finish(reqId, refusal);
      }
      return { reqId, outcome: await promise };
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', gone);
      pending.delete(reqId);
    }
  }

  async function post(
    posted: { reqId: string; accountId: string; deviceId: string },
    result: ExecResult,
  ): Promise<boolean> {
    const { reqId, accountId, deviceId } = posted;
    const waiting = pending.get(reqId);
    const known = waiting ?? finished.get(reqId);
    if (known && (known.accountId !== accountId || known.deviceId !== deviceId)) return false;
    if (known && !waiting?.stored) {
      finish(reqId, { kind: 'result', result });
      return true;
    }
    const stored = await storeResult(sql, posted, JSON.stringify(result));
    if (stored && !stored.late) {
      if (waiting) finish(reqId, { kind: 'result', result });
      else await gateways.send(sql, stored.originId, message.result, { req_id: reqId });
    }
    return stored !== undefined;
  }

  /** Another gateway's caller wants a host whose stream is here. */
  async function onCarry(payload: unknown): Promise<void> {
    const { req_id: reqId, timeout_ms: timeoutMs } = payload as { req_id: string; timeout_ms: number };
    const taken = await takeFrame(sql, reqId, gateways.id);
    if (!taken) return;
    const host = presence.local(taken.account_id, taken.device_id);
    const refusal = host ? carry(host, reqId, taken.origin_id, taken.frame, timeoutMs) : { kind: 'offline' };
    if (refusal) await gateways.send(sql, taken.origin_id, message.refused, { req_id: reqId, kind: refusal.kind });
  }

  async function onResult(payload: unknown): Promise<void> {
    const { req_id: reqId } = payload as { req_id: string };
    if (!pending.has(reqId)) return;
    const text = await readResult(sql, reqId);
    if (text !== undefined) finish(reqId, { kind: 'result', result: JSON.parse(text) as ExecResult });
  }

  function onDone(payload: unknown): void {
    const done = payload as { req_id: string; account_id: string; device_id: string; cancel: boolean };
    const host = presence.local(done.account_id, done.device_id);
    if (host?.inFlight.delete(done.req_id) && done.cancel) host.stream.send('exec_cancel', { req_id: done.req_id });
  }

  /** The host is gone: 502, unless its result was accepted at another gateway and is on its way here. */
  function lose(reqId: string): void {
    const call = pending.get(reqId);
    const result = call?.stored ? readResult(sql, reqId).catch(() => undefined) : Promise.resolve(undefined);
    void result.then((text) =>
      finish(reqId, text === undefined ? { kind: 'disconnected' } : { kind: 'result', result: JSON.parse(text) as ExecResult }),
    );
  }

  /** The stream is gone: whoever waits for one of its calls is told, here or on another gateway. */
  function onLost(host: HostStream): void {
    for (const [reqId, { originId }] of host.inFlight) {
      if (originId === gateways.id) lose(reqId);
      else {
        gateways
          .send(sql, originId, message.lost, { req_id: reqId })
          .catch((err: unknown) => log.warn({ err }, 'the loss of a stream was not passed on'));
      }
    }
  }

  /** A gateway that was killed tells nobody: its lease does. */
  async function checkCarriers(): Promise<void> {
    const now = clock.monotonic();
    for (const [reqId, call] of finished) {
      if (call.until > now) break;
      finished.delete(reqId);
    }
    const carriers = new Set([...pending.values()].map((call) => call.carrierId));
    carriers.delete(gateways.id);
    for (const carrierId of carriers) {
      if (await gateways.isLive(sql, carrierId)) continue;
      for (const [reqId, call] of pending) if (call.carrierId === carrierId) lose(reqId);
    }
  }

  return {
    call,
    post,
    start() {
      presence.onLost(onLost);
      gateways.onMessage(message.carry, onCarry);
      gateways.onMessage(message.result, onResult);
      gateways.onMessage(message.done, onDone);
      gateways.onMessage(message.refused, (payload) => {
        const { req_id: reqId, kind } = payload as { req_id: string; kind: 'busy' | 'offline' };
        finish(reqId, { kind });
      });
      gateways.onMessage(message.lost, (payload) => lose((payload as { req_id: string }).req_id));
      clock.every(checkCarriersMs, () => {
        checkCarriers().catch((err: unknown) => log.warn({ err }, 'carriers were not checked'));
      });
    },
    async drain(ms) {
      const until = clock.monotonic() + ms;
      while (pending.size > 0 && clock.monotonic() < until) {
        const { promise, resolve } = Promise.withResolvers<void>();
        clock.after(20, resolve);
        await promise;
      }
      for (const reqId of pending.keys()) finish(reqId, { kind: 'disconnected' });
    },
  };
}
