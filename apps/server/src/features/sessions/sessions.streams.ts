import { createBroadcast } from '../../kernel/streams/broadcast.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { EventStream } from '../../kernel/streams/sse.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type ControlRow, findControls, listWaiting } from './sessions.controls.sql.ts';
import { findSession, listEvents, type SessionRow } from './sessions.sql.ts';
import { leaseOf, toControl, toEvent } from './sessions.view.ts';

/** A change in a session: ids only, as the bus carries 8,000 bytes. */
interface Change {
  sessionId: string;
  /** Events were appended. */
  events?: true;
  /** Other features are to be told of a turn. */
  turn?: true;
  control?: { id: string; device: string };
  lease?: { device_id: string; expires_at: string } | null;
  /** It is deleted. */
  gone?: true;
}

const topic = 'sessions.changed';
/** Events read at once; with the bytes of one page, what a follower may be behind. */
const page = { limit: 200, bytes: 256 * 1024 };

/** A stream of a session that has all events up to `at`. */
interface Follower {
  stream: EventStream;
  at: number;
}

/** Whose controls a stream gets; of no device: what waits for the account's next one. */
const inboxOf = (accountId: string, deviceId: string | null): string => `${accountId} ${deviceId ?? 'next'}`;

/** The open streams of this gateway: those that follow a session, and those of devices that wait for controls. */
export class SessionStreams {
  readonly #kernel: Kernel;
  /** By session, or by account and device. */
  readonly #broadcast;
  readonly #followers = new Map<string, Set<Follower>>();
  /** By account: functions that give a device listening here the controls that wait for the account's next one. */
  readonly #adopters = new Map<string, Set<() => Promise<void>>>();
  /** Sessions that are being read, and whether there is more since. */
  readonly #reading = new Map<string, boolean>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#broadcast = createBroadcast<Change>(kernel, topic);
  }

  /** Tells every gateway once `db` is committed. */
  publish(db: Db, change: Change): Promise<void> {
    return this.#broadcast.publish(db, change);
  }

  /** Begins to listen; `onTurn` is called when there is a turn to tell. */
  start(onTurn: () => void): Promise<void> {
    return this.#broadcast.start((change) => {
      if (change.turn) onTurn();
      return this.#deliver(change);
    });
  }

  /** Sends what is stored behind `after`, as fast as the client reads, and then what comes. */
  async follow(session: SessionRow, after: number, stream: EventStream): Promise<void> {
    const { id } = session;
    const follower: Follower = { stream, at: after };
    this.#broadcast.follow(id, stream);
    stream.send('lease', { lease: leaseOf(session) });
    while (!stream.closed && (await this.#sendPage(id, [follower]))) await stream.drained();
    if (stream.closed) return;
    const own = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, own.add(follower));
    stream.onClose(() => {
      own.delete(follower);
      if (own.size === 0 && this.#followers.get(id) === own) this.#followers.delete(id);
    });
    // Reads events appended after the last page; news of a deletion may have come before this stream was there.
    await this.#read(id);
    if (!(await findSession(this.#kernel.sql, this.#kernel.clock, session.account_id, id))) stream.end();
  }

  /**
   * Sends what waits for a device, and then what comes; a control may come twice, under one id. `adopt` gives the device what
   * waits for the account's next one.
   */
  async followDevice(
    { accountId, deviceId, adopt }: { accountId: string; deviceId: string; adopt: () => Promise<void> },
    stream: EventStream,
  ): Promise<void> {
    this.#broadcast.follow(inboxOf(accountId, deviceId), stream);
    const next = inboxOf(accountId, null);
    const adopters = this.#adopters.get(next) ?? new Set();
    this.#adopters.set(next, adopters.add(adopt));
    stream.onClose(() => {
      adopters.delete(adopt);
      if (adopters.size === 0 && this.#adopters.get(next) === adopters) this.#adopters.delete(next);
    });
    await adopt();
    for (let after = 0; !stream.closed; ) {
      const rows = await listWaiting(this.#kernel.sql, { accountId, deviceId }, { after, limit: 20 });
      for (const row of rows) stream.send('control', toControl(row));
      const last = rows.at(-1);
      if (!last) return;
      after = last.order_no;
      await stream.drained();
    }
  }

  async #deliver({ sessionId, events, control, lease, gone }: Change): Promise<void> {
    const { sql } = this.#kernel;
    if (events) await this.#read(sessionId);
    if (lease !== undefined) this.#broadcast.send(sessionId, 'lease', lease === null ? {} : { lease });
    if (gone) this.#broadcast.end(sessionId);
    if (!control) return;
    // The first device that gets there has it.
    for (const adopt of this.#adopters.get(control.device) ?? []) await adopt();
    const here = [sessionId, control.device].filter((key) => this.#broadcast.isFollowed(key));
    if (here.length === 0) return;
    const [row] = await findControls(sql, [control.id]);
    if (!row) return;
    for (const key of here)
      if (key === sessionId || row.acked_at === null || row.withdrawn_at !== null)
        this.#broadcast.send(key, 'control', toControl(row));
  }

  /** Reads what a session has more than its followers here, once for all of them. */
  async #read(id: string): Promise<void> {
    if (this.#reading.has(id)) return void this.#reading.set(id, true);
    try {
      do {
        this.#reading.set(id, false);
        while (await this.#sendPage(id, [...(this.#followers.get(id) ?? [])]));
      } while (this.#reading.get(id));
    } catch (err) {
      this.#kernel.log.warn({ err, session: id }, 'events of a session were not read; its streams end');
      this.#broadcast.end(id);
    } finally {
      this.#reading.delete(id);
    }
  }

  /** Sends the next page to those that lack it; answers whether there was one. */
  async #sendPage(id: string, followers: readonly Follower[]): Promise<boolean> {
    if (followers.length === 0) return false;
    const after = Math.min(...followers.map(({ at }) => at));
    const rows = await listEvents(this.#kernel.sql, id, { after, ...page });
    for (const row of rows) {
      const json = JSON.stringify(toEvent(row));
      for (const follower of followers) {
        if (row.seq <= follower.at) continue;
        follower.at = row.seq;
        follower.stream.sendText('event', json);
      }
    }
    return rows.length > 0;
  }
}

/** The change that is published for a control. */
export const controlChange = ({ id, account_id, target_device_id }: ControlRow): NonNullable<Change['control']> => ({
  id,
  device: inboxOf(account_id, target_device_id),
});
