import { randomUUID } from 'node:crypto';
import type { Bus } from './bus.ts';
import type { Clock } from './clock.ts';
import type { Db, Sql } from './db.ts';
import type { Log } from './log.ts';

/**
 * The processes that serve this database, each with a lease. They hear of changes to what they cache through
 * `announce`, which answers only when every live one has acted.
 */
export interface Gateways {
  /** Id of this process, new at each start. */
  readonly id: string;
  /** False while a cached entry may be stale: the bus is down, or our own echo has not come back for 5 s. */
  cachesAreTrusted(): boolean;
  /** Whether another gateway serves this database, as of the last 2 s. */
  hasPeers(): boolean;
  /** Whether the gateway `id` has a live lease. */
  isLive(db: Db, id: string): Promise<boolean>;
  /** Tells every gateway, this one included, and waits for all live ones; at most `announceTimeoutMs`. */
  announce(topic: string, payload: unknown): Promise<void>;
  onAnnounce(topic: string, handler: (payload: unknown) => void): Promise<void>;
  /** Sends to one gateway. */
  send(db: Db, gatewayId: string, type: string, payload: unknown): Promise<void>;
  /** Handles what is sent to this gateway under `type`. */
  onMessage(type: string, handler: (payload: unknown) => void | Promise<void>): void;
  close(): Promise<void>;
}

const leaseSeconds = 10;
const renewEveryMs = 2_000;
const echoLimitMs = 5_000;
/** A revocation answers within this even when a gateway was killed a moment ago (design: kernel). */
const announceTimeoutMs = 1_000;

interface Message {
  type: string;
  payload: unknown;
}

/** Joins the gateways of a database. With `lease` off (a command) it can announce, but serves nobody. */
export async function joinGateways(options: {
  sql: Sql;
  bus: Bus;
  clock: Clock;
  log: Log;
  lease: boolean;
}): Promise<Gateways> {
  const { sql, bus, clock, log } = options;
  const id = randomUUID();
  const handlers = new Map<string, (payload: unknown) => void | Promise<void>>();
  const announced = new Map<string, (payload: unknown) => void>();
  const waiting = new Map<string, (gatewayId: string) => void>();
  let lastEcho = clock.monotonic();
  let peers = 0;

  const send = (db: Db, gatewayId: string, type: string, payload: unknown): Promise<void> =>
    bus.publish(db, `gateway.${gatewayId}`, { type, payload } satisfies Message);

  const renew = async (): Promise<void> => {
    try {
      peers = await renewLease(sql, id);
      await send(sql, id, 'echo', null);
    } catch (err) {
      log.warn({ err }, 'gateway lease was not renewed');
    }
  };

  handlers.set('echo', () => {
    lastEcho = clock.monotonic();
  });
  handlers.set('ack', (payload) => {
    const { nonce, from } = payload as { nonce: string; from: string };
    waiting.get(nonce)?.(from);
  });
  await bus.subscribe(`gateway.${id}`, (message) => {
    const { type, payload } = message as Message;
    return handlers.get(type)?.(payload);
  });

  async function onAnnounce(topic: string, handler: (payload: unknown) => void): Promise<void> {
    announced.set(topic, handler);
    await bus.subscribe(topic, async (message) => {
      const { nonce, replyTo, payload } = message as { nonce: string; replyTo: string; payload: unknown };
      if (replyTo === id) return;
      handler(payload);
      await send(sql, replyTo, 'ack', { nonce, from: id });
    });
  }

  async function announce(topic: string, payload: unknown): Promise<void> {
    announced.get(topic)?.(payload);
    const missing = new Set(await liveGateways(sql, id));
    if (missing.size === 0) return;
    const nonce = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.set(nonce, (from) => {
      missing.delete(from);
      if (missing.size === 0) resolve();
    });
    const cancel = clock.after(announceTimeoutMs, resolve);
    await bus.publish(sql, topic, { nonce, replyTo: id, payload });
    await promise;
    cancel();
    waiting.delete(nonce);
    if (missing.size > 0) log.warn({ topic, missing: [...missing] }, 'gateways did not acknowledge');
  }

  let stopRenewing = (): void => {};
  if (options.lease) {
    await onAnnounce('gateways.joined', () => {
      peers = Math.max(peers, 1);
    });
    await renew();
    await announce('gateways.joined', null);
    stopRenewing = clock.every(renewEveryMs, () => void renew());
  }
  return {
    id,
    cachesAreTrusted: () => options.lease && bus.isUp() && clock.monotonic() - lastEcho < echoLimitMs,
    hasPeers: () => peers > 0,
    isLive: async (db, gatewayId) => {
      const rows = await db`select 1 from kernel.gateways where id = ${gatewayId} and lease_until > now()`;
      return rows.length > 0;
    },
    announce,
    onAnnounce,
    send,
    onMessage: (type, handler) => void handlers.set(type, handler),
    async close() {
      stopRenewing();
      if (options.lease) await sql`delete from kernel.gateways where id = ${id}`;
    },
  };
}

/** Renews the lease, drops leases long dead, answers how many other gateways are live. */
async function renewLease(sql: Sql, id: string): Promise<number> {
  const [row] = await sql<{ peers: number }[]>`
    with renewed as (
      insert into kernel.gateways (id, lease_until) values (${id}, now() + make_interval(secs => ${leaseSeconds}))
      on conflict (id) do update set lease_until = excluded.lease_until
    ), dropped as (
      delete from kernel.gateways where lease_until < now() - interval '1 minute'
    )
    select count(*)::int as peers from kernel.gateways where id <> ${id} and lease_until > now()`;
  return row?.peers ?? 0;
}

async function liveGateways(sql: Sql, except: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from kernel.gateways where id <> ${except} and lease_until > now()`;
  return rows.map((row) => row.id);
}
