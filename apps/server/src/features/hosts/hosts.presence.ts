import type { Kernel } from '../../kernel/context.ts';
import type { EventStream } from '../../kernel/sse.ts';
import { PeerWatch, readSendQueues } from './hosts.sockets.ts';
import { dropPresence, renewPresence, takePresence } from './hosts.sql.ts';

/** A host's stream that this gateway holds. */
export interface HostStream {
  readonly accountId: string;
  readonly deviceId: string;
  readonly epoch: number;
  readonly stream: EventStream;
  /** Calls written to it and not finished: `req_id` to the gateway that waits, and until when. */
  readonly inFlight: Map<string, { originId: string; until: number }>;
}

/** The host streams of this gateway and their presence rows. */
export interface Presence {
  /** Takes the device's presence, opens its stream, sends `ready`. An older stream of the device is ended. */
  open(
    host: { accountId: string; deviceId: string; os: string; hostname: string; roots: string[] },
    start: () => EventStream,
  ): Promise<HostStream>;
  /** The device's stream, if this gateway holds it. */
  local(accountId: string, deviceId: string): HostStream | undefined;
  onLost(handler: (host: HostStream) => void): void;
  start(): void;
  stop(): Promise<void>;
}

const renewEveryMs = 15_000;
const replaced = 'hosts.replaced';

/** Makes the presence of this process. */
export function createPresence(kernel: Kernel): Presence {
  const { sql, gateways, clock, log } = kernel;
  const hosts = new Map<string, HostStream>();
  const watches = new WeakMap<HostStream, PeerWatch>();
  const lostHandlers: ((host: HostStream) => void)[] = [];
  const ending = new Set<Promise<void>>();
  let stopTimer = (): void => {};
  const idOf = (accountId: string, deviceId: string): string => `${accountId}:${deviceId}`;

  function lost(host: HostStream): void {
    const id = idOf(host.accountId, host.deviceId);
    if (hosts.get(id) === host) hosts.delete(id);
    for (const handler of lostHandlers) handler(host);
    const dropped = dropPresence(sql, host.accountId, host.deviceId, host.epoch)
      .catch((err: unknown) => log.warn({ err }, 'presence was not dropped; its lease ends it'))
      .finally(() => ending.delete(dropped));
    ending.add(dropped);
  }

  async function renew(): Promise<void> {
    const queues = await readSendQueues();
    const alive: HostStream[] = [];
    for (const host of hosts.values()) {
      if (watches.get(host)?.check(host.stream, queues, clock.monotonic()) ?? true) alive.push(host);
      else host.stream.destroy();
    }
    if (alive.length === 0) return;
    const held = await renewPresence(
      sql,
      alive.map((host) => host.epoch),
    );
    for (const host of alive) if (!held.has(host.epoch)) host.stream.end();
  }

  return {
    async open(host, start) {
      const { epoch, since, previousGatewayId } = await takePresence(sql, { ...host, gatewayId: gateways.id });
      const id = idOf(host.accountId, host.deviceId);
      const opened: HostStream = {
        accountId: host.accountId,
        deviceId: host.deviceId,
        epoch,
        stream: start(),
        inFlight: new Map(),
      };
      watches.set(opened, new PeerWatch());
      const older = hosts.get(id);
      // Two streams of one device at once: the database's order decides, not ours.
      if (older && older.epoch > epoch) opened.stream.end();
      else {
        hosts.set(id, opened);
        older?.stream.end();
      }
      opened.stream.onClose(() => lost(opened));
      opened.stream.send('ready', { device_id: host.deviceId, since: Date.parse(since) });
      if (previousGatewayId !== null && previousGatewayId !== gateways.id) {
        await gateways.send(sql, previousGatewayId, replaced, { id, epoch });
      }
      return opened;
    },
    local: (accountId, deviceId) => hosts.get(idOf(accountId, deviceId)),
    onLost: (handler) => void lostHandlers.push(handler),
    start() {
      gateways.onMessage(replaced, (payload) => {
        const { id, epoch } = payload as { id: string; epoch: number };
        const older = hosts.get(id);
        if (older && older.epoch < epoch) older.stream.end();
      });
      stopTimer = clock.every(renewEveryMs, () => {
        renew().catch((err: unknown) => log.warn({ err }, 'presence was not renewed'));
      });
    },
    async stop() {
      stopTimer();
      for (const host of hosts.values()) host.stream.end();
      await Promise.all(ending);
    },
  };
}
