import type { RelayReport } from '@svc/contract';
import type { Duplex } from 'node:stream';
import { asSocket } from '@svc/tunnel';
import type { Kernel } from '../../kernel/kernel.ts';
import { messageKind } from '../../kernel/peers/gateways.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { daemonReported, type Environments, mayStillServe } from '../environments/index.ts';
import { dropUsable, endPresence, takePresence, writeReport, writeUsable } from './relay.sql.ts';
import { Tunnel } from './relay.tunnel.ts';

/** A daemon that connects. */
interface Serving {
  environmentId: string;
  /** Of its key. */
  accountId: string;
  deviceId: string;
  /** Where other relays reach this one. */
  peerUrl: string;
}

/** Its connection here. */
interface Connected extends Serving {
  readonly tunnel: Tunnel;
  readonly epoch: string;
  seq: number;
  /** Its environment runs: no command proves one that is not said to. */
  isRunning: boolean;
  activity: number | null;
  /** Its machine makes Linux users of members. */
  hasUsers: boolean;
}

/** A daemon is online for so long after a report (design: environments). */
const leaseSeconds = 30;
/** An environment is usable for so long after a command ran in it. */
export const usableSeconds = 30;
/** Between two reports of a daemon, which come every 10 s. */
const leastBetweenMs = 250;
const proveEveryMs = 10_000;
const rightsEveryMs = 3_000;
/** A newer connection of the machine was opened elsewhere. */
const replaced = messageKind<{ environmentId: string; epoch: string }>('relay.replaced');

/** The daemons that hang on this process. */
export class Daemons {
  readonly #kernel: Kernel;
  readonly #environments: Environments;
  readonly #here = new Map<string, Connected>();
  readonly #ending = new Set<Promise<void>>();
  #loops: Loop[] = [];
  #onUsers = (): void => {};

  constructor(kernel: Kernel, environments: Environments) {
    this.#kernel = kernel;
    this.#environments = environments;
    kernel.metrics.gauge('svc_relay_daemons', 'Daemons of environments that are connected here', () => this.#here.size);
  }

  start(): void {
    const kernel = this.#kernel;
    kernel.gateways.onMessage(replaced, ({ environmentId, epoch }) => {
      const here = this.#here.get(environmentId);
      if (here && BigInt(here.epoch) < BigInt(epoch)) here.tunnel.close();
    });
    this.#loops = [
      startLoop(kernel, { name: 'relay.usable', everyMs: proveEveryMs, work: () => this.#prove() }),
      startLoop(kernel, { name: 'relay.daemons', everyMs: rightsEveryMs, work: () => this.#lookAtRights() }),
    ];
  }

  async stop(): Promise<void> {
    for (const { tunnel } of this.#here.values()) tunnel.close();
    await Promise.all([...this.#loops.map((loop) => loop.stop()), ...this.#ending]);
  }

  /** The tunnel of an environment's daemon, if it hangs here. */
  local(environmentId: string): Tunnel | undefined {
    return this.#here.get(environmentId)?.tunnel;
  }

  /** Daemons here whose machines make Linux users of members. */
  withUsers(): { environmentId: string; tunnel: Tunnel }[] {
    return [...this.#here.values()].filter(({ hasUsers }) => hasUsers);
  }

  /** `listen` is called when a daemon begins to make Linux users. */
  onUsers(listen: () => void): void {
    this.#onUsers = listen;
  }

  /** Serves a daemon until its connection is over. */
  async serve(daemon: Serving, over: Duplex): Promise<void> {
    const { sql, gateways, clock, log } = this.#kernel;
    const { environmentId } = daemon;
    const tunnel = new Tunnel(clock, await asSocket(over));
    const { epoch, before } = await takePresence(sql, { ...daemon, instanceId: gateways.id });
    const connected: Connected = {
      ...daemon,
      tunnel,
      epoch,
      seq: -1,
      isRunning: false,
      activity: null,
      hasUsers: false,
    };
    const older = this.#here.get(environmentId);
    // Of two at once the database's order decides, not ours.
    if (older && BigInt(older.epoch) > BigInt(epoch)) return tunnel.close();
    this.#here.set(environmentId, connected);
    older?.tunnel.close();
    try {
      if (before !== null && before !== gateways.id)
        await gateways.send(sql, before, replaced, { environmentId, epoch });
      void tunnel
        .reports(async (report) => {
          await this.#report(connected, report);
          await this.#rest();
        })
        .catch((err: unknown) => log.debug({ err, environmentId }, 'a daemon reports no more'))
        .finally(() => tunnel.close());
      await tunnel.closed;
    } finally {
      tunnel.close();
      await this.#over(connected);
    }
  }

  /** Forgets a connection that is over; its lease ends what cannot be written now. */
  async #over(connected: Connected): Promise<void> {
    const { sql, log } = this.#kernel;
    const { environmentId, epoch } = connected;
    if (this.#here.get(environmentId) === connected) this.#here.delete(environmentId);
    const ended = endPresence(sql, environmentId, epoch)
      .catch((err: unknown) => log.warn({ err }, 'the presence of a daemon was not ended; its lease ends it'))
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
    await ended;
  }

  async #report(daemon: Connected, report: RelayReport): Promise<void> {
    if (report.seq <= daemon.seq) return;
    const isFirst = daemon.seq === -1;
    daemon.seq = report.seq;
    const { environmentId, epoch, deviceId } = daemon;
    const isNewest = await writeReport(this.#kernel.sql, { environmentId, epoch, report, leaseSeconds });
    if (!isNewest) return daemon.tunnel.close();
    const hadUsers = daemon.hasUsers;
    daemon.hasUsers = report.daemon.capabilities.includes('users');
    if (daemon.hasUsers && !hadUsers) this.#onUsers();
    const isActive = report.activity !== null && report.activity > (daemon.activity ?? 0);
    if (!isFirst && !isActive) return;
    daemon.activity = report.activity;
    await daemonReported(this.#kernel, this.#environments, { environmentId, deviceId, activity: report.activity });
    daemon.isRunning = true;
    if (isFirst) await this.#proveOne(daemon);
  }

  /** The next report is read no sooner: a daemon that sends them without a pause is held back, and costs no more than others. */
  #rest(): Promise<void> {
    return new Promise((resolve) => void this.#kernel.clock.after(leastBetweenMs, resolve));
  }

  async #prove(): Promise<void> {
    const running = [...this.#here.values()].filter(({ isRunning }) => isRunning);
    await Promise.all(running.map((daemon) => this.#proveOne(daemon)));
  }

  /** Runs a command that does nothing, and writes whether it did. */
  async #proveOne({ tunnel, epoch }: Connected): Promise<void> {
    const { sql } = this.#kernel;
    if (await tunnel.isUsable()) await writeUsable(sql, [epoch], usableSeconds);
    else await dropUsable(sql, [epoch]);
  }

  /** Ends those that may serve no more: another role, another device, an environment that is put aside. */
  async #lookAtRights(): Promise<void> {
    const all = [...this.#here.values()];
    if (all.length === 0) return;
    const may = await mayStillServe(this.#kernel.sql, all);
    for (const [at, { tunnel }] of all.entries()) if (!may[at]) tunnel.close();
  }
}
