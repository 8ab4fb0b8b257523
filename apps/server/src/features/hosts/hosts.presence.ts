import { type Db, inTransaction } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { messageKind } from '../../kernel/peers/gateways.ts';
import type { EventStream } from '../../kernel/streams/sse.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { PeerWatch, readSendQueues } from './hosts.sockets.ts';
import { dropExpired, dropPresence, findPresent, renewPresence, takePresence } from './hosts.sql.ts';
import { viewHosts } from './hosts.view.ts';

/** A host as its stream's request describes it. */
interface HostDescription {
  accountId: string;
  deviceId: string;
  /** The key that its stream was opened with. */
  keyId: string;
  os: string;
  hostname: string;
  roots: string[];
  /** Its daemon does commands by itself. */
  detached: boolean;
}

/** A host's stream that this gateway holds. */
export interface HostStream {
  readonly accountId: string;
  readonly deviceId: string;
  readonly keyId: string;
  readonly epoch: number;
  readonly detached: boolean;
  readonly stream: EventStream;
  /** Calls written to it and not finished: `req_id` to the gateway that waits, and until when. */
  readonly inFlight: Map<string, { originId: string; until: number; takeBack: () => boolean }>;
}

const topic = 'hosts';
const renewEveryMs = 15_000;
/** A newer stream of the device was opened elsewhere. */
const replaced = messageKind<{ id: string; epoch: number }>('hosts.replaced');

/** The host streams of this gateway and their presence rows. */
export class Presence {
  readonly #kernel: Kernel;
  readonly #hosts = new Map<string, HostStream>();
  readonly #watches = new WeakMap<HostStream, PeerWatch>();
  readonly #openHandlers: ((host: HostStream) => void)[] = [];
  readonly #lostHandlers: ((host: HostStream) => void)[] = [];
  readonly #ending = new Set<Promise<void>>();
  #renewing: Loop | undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Renews presence and listens to the other gateways. */
  start(): void {
    this.#kernel.gateways.onMessage(replaced, ({ id, epoch }) => {
      const older = this.#hosts.get(id);
      if (older && older.epoch < epoch) older.stream.end();
    });
    this.#kernel.metrics.gauge('svc_hosts', 'Hosts whose stream is open here', () => this.#hosts.size);
    const work = () => this.#renew();
    this.#renewing = startLoop(this.#kernel, { name: 'hosts.presence', everyMs: renewEveryMs, work });
  }

  /** Takes the device's presence, opens its stream, sends `ready`. An older stream of the device is ended. */
  async open(host: HostDescription, start: () => EventStream): Promise<HostStream> {
    const { sql, gateways } = this.#kernel;
    const { accountId, deviceId, keyId, detached } = host;
    const { epoch, since, previousGatewayId } = await this.#take(host);
    const id = idOf(accountId, deviceId);
    const stream = start();
    const opened: HostStream = { accountId, deviceId, keyId, epoch, detached, stream, inFlight: new Map() };
    this.#watches.set(opened, new PeerWatch());
    const older = this.#hosts.get(id);
    // Two streams of one device at once: the database's order decides, not ours.
    if (older && older.epoch > epoch) opened.stream.end();
    else {
      this.#hosts.set(id, opened);
      older?.stream.end();
    }
    opened.stream.onClose(() => this.#lost(opened));
    opened.stream.send('ready', { device_id: deviceId, since: Date.parse(since) });
    for (const handler of this.#openHandlers) handler(opened);
    if (previousGatewayId !== null && previousGatewayId !== gateways.id) {
      await gateways.send(sql, previousGatewayId, replaced, { id, epoch });
    }
    return opened;
  }

  /** The device's stream, if this gateway holds it. */
  local(accountId: string, deviceId: string): HostStream | undefined {
    return this.#hosts.get(idOf(accountId, deviceId));
  }

  /** The device as it is present on any gateway; undefined when it is away. */
  async find(accountId: string, deviceId: string): Promise<{ detached: boolean } | undefined> {
    const local = this.local(accountId, deviceId);
    if (local) return local;
    const { sql, gateways } = this.#kernel;
    const row = await findPresent(sql, accountId, deviceId);
    // A row may outlive its stream: our own by a moment, that of a gateway that was killed by its lease.
    if (!row || row.gateway_id === gateways.id) return undefined;
    return (await gateways.isLive(sql, row.gateway_id)) ? row : undefined;
  }

  /** The streams that this gateway holds. */
  all(): Iterable<HostStream> {
    return this.#hosts.values();
  }

  /** Calls `handler` with every stream that opens, after its `ready`. */
  onOpen(handler: (host: HostStream) => void): void {
    this.#openHandlers.push(handler);
  }

  /** Calls `handler` with every stream that has ended. */
  onLost(handler: (host: HostStream) => void): void {
    this.#lostHandlers.push(handler);
  }

  /** Ends the streams and waits until their presence is dropped. */
  async stop(): Promise<void> {
    const stopped = this.#renewing?.stop();
    for (const host of this.#hosts.values()) host.stream.end();
    await Promise.all([stopped, ...this.#ending]);
  }

  #lost(host: HostStream): void {
    const { sql, log } = this.#kernel;
    const id = idOf(host.accountId, host.deviceId);
    if (this.#hosts.get(id) === host) this.#hosts.delete(id);
    for (const handler of this.#lostHandlers) handler(host);
    const dropped = inTransaction(sql, (tx) => this.#drop(tx, host))
      .catch((err: unknown) => log.warn({ err }, 'presence was not dropped; its lease ends it'))
      .finally(() => this.#ending.delete(dropped));
    this.#ending.add(dropped);
  }

  /** Takes the presence, and tells those who follow the account's hosts. */
  #take(host: HostDescription): ReturnType<typeof takePresence> {
    const { sql, gateways, feed } = this.#kernel;
    const { accountId, deviceId } = host;
    return inTransaction(sql, async (tx) => {
      const taken = await takePresence(tx, { ...host, gatewayId: gateways.id });
      const row = await findPresent(tx, accountId, deviceId);
      const [record] = await viewHosts(tx, accountId, row ? [row] : []);
      const op = taken.previousGatewayId === null ? 'created' : 'updated';
      await feed.record(tx, [{ accountId, topic, op, id: deviceId, record }]);
      return taken;
    });
  }

  async #drop(tx: Db, { accountId, deviceId, epoch }: HostStream): Promise<void> {
    if (await dropPresence(tx, accountId, deviceId, epoch))
      await this.#kernel.feed.record(tx, [{ accountId, topic, op: 'deleted', id: deviceId }]);
  }

  /** Ends what a gateway that was killed left behind. */
  async #dropExpired(): Promise<void> {
    const { sql, feed } = this.#kernel;
    await inTransaction(sql, async (tx) => {
      const gone = await dropExpired(tx);
      const op = 'deleted' as const;
      const changes = gone.map(({ account_id: accountId, device_id: id }) => ({ accountId, topic, op, id }));
      await feed.record(tx, changes);
    });
  }

  async #renew(): Promise<void> {
    const { sql, clock } = this.#kernel;
    await this.#dropExpired();
    const queues = await readSendQueues();
    const alive: HostStream[] = [];
    for (const host of this.#hosts.values()) {
      if (this.#watches.get(host)?.check(host.stream, queues, clock.monotonic()) ?? true) alive.push(host);
      else host.stream.destroy();
    }
    if (alive.length === 0) return;
    const epochs = alive.map((host) => host.epoch);
    const held = await renewPresence(sql, epochs);
    for (const host of alive) if (!held.has(host.epoch)) host.stream.end();
  }
}

const idOf = (accountId: string, deviceId: string): string => `${accountId}:${deviceId}`;
