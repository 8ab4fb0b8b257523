import { inTransaction } from '../../../kernel/db/db.ts';
import { readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../../kernel/work/loop.ts';
import type { HostStream, Presence } from '../hosts.presence.ts';
import type { ExecHint } from './changes.ts';
import type { Execs } from './execs.ts';
import {
  type ExecRow,
  findFrame,
  forgetStream,
  listToTell,
  lockStream,
  lockUnderway,
  lockWaiting,
  noteStream,
  sealedFrames,
} from './execs.sql.ts';

/** Commands that a machine was told and that are not over (design: feed). */
const mostUnderway = 16;
const lookEveryMs = 5_000;

/**
 * Tells machines whose streams are here of their commands: the next ones, and on a new stream again what is not over. A frame
 * may come twice, and one may be lost with its stream: what counts is that the machine asks before it starts.
 */
export class Dispatcher {
  readonly #kernel: Kernel;
  readonly #presence: Presence;
  readonly #execs: Execs;
  /** Streams that are looked after now; true: once more after that. */
  readonly #busy = new Map<HostStream, boolean>();
  #loop: Loop | undefined;

  constructor(kernel: Kernel, presence: Presence, execs: Execs) {
    this.#kernel = kernel;
    this.#presence = presence;
    this.#execs = execs;
  }

  start(): void {
    this.#presence.onOpen((host) => this.#look(host));
    this.#execs.changes.onHint((hint) => this.#onHint(hint));
    this.#loop = startLoop(this.#kernel, { name: 'hosts.execs', everyMs: lookEveryMs, work: () => this.#lookAll() });
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  #onHint({ id, account, device, ends, next }: ExecHint): void {
    const host = this.#presence.local(account, device);
    if (!host?.detached) return;
    if (ends) host.stream.send('exec_cancel', { req_id: id });
    if (next) this.#look(host);
  }

  /** A hint may be lost. */
  async #lookAll(): Promise<void> {
    const hosts = new Map(
      [...this.#presence.all()].filter(({ detached }) => detached).map((host) => [host.epoch, host]),
    );
    if (hosts.size === 0) return;
    for (const { epoch } of await listToTell(this.#kernel.sql, [...hosts.values()])) {
      const host = hosts.get(epoch);
      if (host) this.#look(host);
    }
  }

  /** Tells a machine what it is to be told, one look at a time. */
  #look(host: HostStream): void {
    if (!host.detached || host.stream.closed) return;
    const isBusy = this.#busy.has(host);
    this.#busy.set(host, isBusy);
    if (isBusy) return;
    this.#tell(host)
      .catch((err: unknown) => this.#kernel.log.warn({ err }, 'a host was not told of its commands; it is tried again'))
      .finally(() => {
        const again = this.#busy.get(host) === true;
        this.#busy.delete(host);
        if (again) this.#look(host);
      });
  }

  async #tell(host: HostStream): Promise<void> {
    const rows = await this.#take(host);
    for (const [at, row] of rows.entries()) {
      if (await this.#write(host, row)) continue;
      // In their order: behind one that has no room none is written. The next look tries again.
      const left = rows.slice(at).map(({ id }) => id);
      return forgetStream(this.#kernel.sql, left, host.epoch);
    }
  }

  /** What the stream is to carry, noted as written to it. */
  #take(host: HostStream): Promise<ExecRow[]> {
    const { sql, clock } = this.#kernel;
    return inTransaction(sql, async (tx) => {
      if (!(await lockStream(tx, host))) return [];
      const underway = await lockUnderway(tx, host);
      const again = underway.filter((row) => row.sent_epoch !== host.epoch);
      await noteStream(
        tx,
        again.map(({ id }) => id),
        host.epoch,
      );
      const room = mostUnderway - underway.length;
      const waiting = room > 0 ? await lockWaiting(tx, clock, host, room) : [];
      const sent: ExecRow[] = [];
      const now = await readNow(tx, clock);
      for (const row of waiting)
        sent.push((await this.#execs.move(tx, now, row, 'send', { epoch: host.epoch })) ?? row);
      return [...again, ...sent];
    });
  }

  /** Writes a frame; false when the stream has no room for it. */
  async #write(host: HostStream, row: ExecRow): Promise<boolean> {
    const frame = row.state === 'running' ? undefined : await this.#frameOf(row.id);
    // It started meanwhile, or is over.
    if (row.state !== 'running' && !frame) return true;
    // What runs has no frame any more: a machine that knows it passes this over, one that has lost it asks and is refused.
    const told = frame ?? { op: row.op, args: {}, timeout_ms: 0 };
    const own = { req_id: row.id, deadline: Date.parse(row.expires_at), detached: true };
    if (!host.stream.offer('exec', JSON.stringify({ ...told, ...own }))) return false;
    if (row.cancel_asked_at !== null) host.stream.send('exec_cancel', { req_id: row.id });
    return true;
  }

  async #frameOf(id: string): Promise<object | undefined> {
    const { sql, gateways, keyring } = this.#kernel;
    const sealed = await findFrame(sql, id);
    if (!sealed) return undefined;
    await gateways.prove();
    return JSON.parse(keyring.open(sealedFrames, sealed).toString()) as object;
  }
}
