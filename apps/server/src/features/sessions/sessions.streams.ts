import type { Db } from '../../kernel/db/db.ts';
import { Followers } from '../../kernel/streams/followers.ts';
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

/** Controls read at once, of up to 8 KiB each. */
const pageOfControls = 20;
/** Most controls that came while a device's stream was given what waited; past them the stream ends, and the device comes again. */
const mostLate = 1_000;

/** Whose controls a stream gets; of no device: what waits for the account's next one. */
const inboxOf = (accountId: string, deviceId: string | null): string => `${accountId} ${deviceId ?? 'next'}`;

/** The open streams of this gateway: those that follow a session, and those of devices that wait for controls. */
export class SessionStreams {
  readonly #kernel: Kernel;
  /** By session, or by account and device. */
  readonly #streams = new Followers<EventStream>();
  /** By session: streams that have all that was stored when they came. */
  readonly #followers = new Followers<Follower>();
  /** By account: functions that give a device listening here the controls that wait for the account's next one. */
  readonly #adopters = new Followers<() => Promise<void>>();
  /** Streams of devices that are given what waits, and the controls that came meanwhile: they come behind it. */
  readonly #late = new Map<EventStream, Set<string>>();
  /** By session or device: controls that are still to be read while others are. */
  readonly #news = new Map<string, Set<string>>();
  /** By session or device: what brings a stream up to date when messages may have been missed. */
  readonly #refreshers = new Followers<() => Promise<void>>();
  /** Sessions that are being read, and whether there is more since. */
  readonly #reading = new Map<string, boolean>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Tells every gateway once `db` is committed. */
  publish(db: Db, change: Change): Promise<void> {
    return this.#kernel.bus.publish(db, topic, change);
  }

  /** Begins to listen; `onTurn` is called when there is a turn to tell. */
  async start(onTurn: () => void): Promise<void> {
    const { bus, gateways } = this.#kernel;
    gateways.onLost(() => void this.#refreshAll());
    await bus.subscribe(topic, (message) => {
      const change = message as Change;
      if (change.turn) onTurn();
      return this.#deliver(change);
    });
  }

  /** Sends what is stored behind `after`, as fast as the client reads, and then what comes. */
  async follow(session: SessionRow, after: number, stream: EventStream): Promise<void> {
    const { id, account_id: accountId } = session;
    const follower: Follower = { stream, at: after };
    stream.onClose(this.#streams.add(id, stream));
    stream.send('lease', { lease: leaseOf(session) });
    while (!stream.closed && (await this.#sendPage(id, [follower]))) await stream.drained();
    if (stream.closed) return;
    stream.onClose(this.#followers.add(id, follower));
    // Reads events appended after the last page; news of a deletion may have come before this stream was there.
    await this.#read(id);
    const find = () => findSession(this.#kernel.sql, this.#kernel.clock, accountId, id);
    if (!(await find())) return stream.end();
    const refresh = async (): Promise<void> => {
      const now = await find();
      if (!now) return stream.end();
      stream.send('lease', { lease: leaseOf(now) });
      await this.#read(id);
    };
    stream.onClose(this.#refreshers.add(id, refresh));
  }

  /**
   * Sends what waits for a device, oldest first, and then what comes; a control may come twice, under one id. `adopt` gives the
   * device what waits for the account's next one.
   */
  async followDevice(
    { accountId, deviceId, adopt }: { accountId: string; deviceId: string; adopt: () => Promise<void> },
    stream: EventStream,
  ): Promise<void> {
    const inbox = inboxOf(accountId, deviceId);
    stream.onClose(this.#streams.add(inbox, stream));
    stream.onClose(this.#adopters.add(inboxOf(accountId, null), adopt));
    const refresh = () => this.#sendWaiting({ accountId, deviceId, adopt }, stream);
    stream.onClose(this.#refreshers.add(inbox, refresh));
    await refresh();
  }

  async #sendWaiting(
    { adopt, ...device }: { accountId: string; deviceId: string; adopt: () => Promise<void> },
    stream: EventStream,
  ): Promise<void> {
    // One that is being brought up to date is told of more by whoever does it.
    const late = new Set<string>();
    this.#late.set(stream, late);
    try {
      await adopt();
      const sent = new Set<string>();
      for (let after: number | undefined = 0; after !== undefined && !stream.closed; ) {
        const rows = await listWaiting(this.#kernel.sql, device, { after, limit: pageOfControls });
        for (const row of rows) {
          stream.send('control', toControl(row));
          sent.add(row.id);
        }
        after = rows.at(-1)?.order_no;
        await stream.drained();
      }
      while (late.size > 0 && !stream.closed) {
        const ids = [...late].slice(0, pageOfControls);
        for (const id of ids) late.delete(id);
        for (const row of await findControls(this.#kernel.sql, ids)) {
          if (isNews(row) && (row.withdrawn_at !== null || !sent.has(row.id))) stream.send('control', toControl(row));
        }
        await stream.drained();
      }
    } finally {
      if (this.#late.get(stream) === late) this.#late.delete(stream);
    }
  }

  /** Messages may have been missed: reads again what each stream follows, one after the other. */
  async #refreshAll(): Promise<void> {
    for (const key of this.#refreshers.keys()) {
      for (const refresh of this.#refreshers.of(key)) {
        await refresh().catch((err: unknown) => {
          this.#kernel.log.warn({ err }, 'a stream of sessions was not brought up to date; it ends');
          this.#end(key);
        });
      }
    }
  }

  #end(key: string): void {
    for (const stream of this.#streams.of(key)) stream.end();
  }

  #send(key: string, event: string, data: object): void {
    for (const stream of this.#streams.of(key)) stream.send(event, data);
  }

  async #deliver({ sessionId, events, control, lease, gone }: Change): Promise<void> {
    if (events) await this.#read(sessionId);
    if (lease !== undefined) this.#send(sessionId, 'lease', lease === null ? {} : { lease });
    if (gone) this.#end(sessionId);
    if (!control) return;
    // The first device that gets there has it.
    for (const adopt of this.#adopters.of(control.device)) await adopt();
    await Promise.all([
      this.#readControl(sessionId, control.id, (row) => this.#send(sessionId, 'control', toControl(row))),
      this.#readControl(control.device, control.id, (row) => this.#giveTo(control.device, row)),
    ]);
  }

  #giveTo(inbox: string, row: ControlRow): void {
    for (const stream of this.#streams.of(inbox)) {
      const late = this.#late.get(stream);
      if (late === undefined) {
        if (isNews(row)) stream.send('control', toControl(row));
      } else if (late.add(row.id).size > mostLate) stream.end();
    }
  }

  /**
   * Reads a control for the streams of a session or device, one read at a time for each: of two reads at once the second may
   * be answered first, and "stop" would overtake what it is to stop.
   */
  async #readControl(key: string, id: string, give: (row: ControlRow) => void): Promise<void> {
    if (!this.#streams.has(key)) return;
    const reading = this.#news.get(key);
    if (reading) {
      if (reading.add(id).size > mostLate) this.#end(key);
      return;
    }
    const ids = new Set([id]);
    this.#news.set(key, ids);
    try {
      while (ids.size > 0 && this.#streams.has(key)) {
        const some = [...ids].slice(0, pageOfControls);
        for (const one of some) ids.delete(one);
        for (const row of await findControls(this.#kernel.sql, some)) give(row);
      }
    } catch (err) {
      this.#kernel.log.warn({ err }, 'controls were not read; the streams that wait for them end');
      this.#end(key);
    } finally {
      this.#news.delete(key);
    }
  }

  /** Reads what a session has more than its followers here, once for all of them. */
  async #read(id: string): Promise<void> {
    if (this.#reading.has(id)) return void this.#reading.set(id, true);
    try {
      do {
        this.#reading.set(id, false);
        while (await this.#sendPage(id, this.#followers.of(id)));
      } while (this.#reading.get(id));
    } catch (err) {
      this.#kernel.log.warn({ err, session: id }, 'events of a session were not read; its streams end');
      this.#end(id);
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

/** Whether a device is told of a control as it is now: it waits, or was taken back. */
const isNews = ({ acked_at: ackedAt, withdrawn_at: withdrawnAt }: ControlRow): boolean =>
  ackedAt === null || withdrawnAt !== null;

/** The change that is published for a control. */
export const controlChange = ({ id, account_id, target_device_id }: ControlRow): NonNullable<Change['control']> => ({
  id,
  device: inboxOf(account_id, target_device_id),
});
