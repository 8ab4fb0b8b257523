import type { Db } from '../../kernel/db/db.ts';
import { ApiError, badRequest, notFound } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { findDevices } from '../devices/index.ts';
import {
  adoptControls,
  type ControlRow,
  countWaiting,
  insertControl,
  listWithdrawn,
  lockControl,
  retargetControl,
  withdrawControl,
} from './sessions.controls.sql.ts';
import {
  blockBytes,
  bytesOf,
  bytesOfControl,
  type GivenEvent,
  mostControls,
  mostEvents,
  mostWaiting,
  planAppend,
} from './sessions.rules.ts';
import {
  findNamed,
  findSaidFrom,
  findSession,
  insertEvents,
  insertSession,
  listEvents,
  listSaid,
  lockSession,
  sessionBytesQuota,
  type SessionRow,
  sessionsQuota,
  type SessionTerms,
} from './sessions.sql.ts';
import { controlChange, SessionStreams } from './sessions.streams.ts';
import type { SessionListener } from './sessions.turns.ts';
import { findEnd, hasBegun, type SessionTurn } from './sessions.turns.sql.ts';
import { leaseOf, sessionChange } from './sessions.view.ts';

/** Bytes of a transcript's texts that are read at once. */
const readBytes = 1024 * 1024;
/** A transcript has at most so many UTF-16 units; of a longer one the end is kept. */
const mostTranscript = 1_000_000;

/** Devices that a person works at: what names no device is for them. */
export const workPlatforms: readonly string[] = ['desktop', 'android'];

/** Where something is meant for. */
interface Control {
  accountId: string;
  sessionId: string;
  type: string;
  text?: string | undefined;
  /** Unset: the device that writes, or wrote last. Null: the account's next desktop or Android device that listens. */
  target?: string | null | undefined;
  from?: string | undefined;
}

/** Sessions, as the routes and other features use them. */
export class Sessions {
  readonly #kernel: Kernel;
  readonly streams: SessionStreams;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.streams = new SessionStreams(kernel);
  }

  /** Begins a session in the caller's transaction. Throws 429 when the account may have no more. */
  async open(tx: Db, accountId: string, terms: SessionTerms): Promise<SessionRow> {
    const { config, clock } = this.#kernel;
    await checkQuota(config, tx, sessionsQuota, accountId);
    const row = await insertSession(tx, clock, accountId, terms);
    await this.#kernel.feed.record(tx, [sessionChange('created', row)]);
    return row;
  }

  /** Throws 404. */
  async get(db: Db, accountId: string, id: string): Promise<SessionRow> {
    const row = await findSession(db, this.#kernel.clock, accountId, id);
    if (!row) throw notFound('session');
    return row;
  }

  /** The same, locked until the transaction ends. */
  async lock(tx: Db, accountId: string, id: string): Promise<SessionRow> {
    const row = await lockSession(tx, this.#kernel.clock, accountId, id);
    if (!row) throw notFound('session');
    return row;
  }

  /**
   * Appends a batch behind `expected` and answers the `seq` of its last event; a batch that was stored before gets the
   * answer of then. Throws 400 for an id that another event has, 404, 409 `lease_held` and `seq_conflict`, 429 when session or account
   * are full.
   */
  async append(
    tx: Db,
    accountId: string,
    id: string,
    { deviceId, expected, events }: { deviceId: string; expected: number; events: readonly GivenEvent[] },
  ): Promise<number> {
    const { clock } = this.#kernel;
    const session = await this.lock(tx, accountId, id);
    await this.#checkWithdrawn(tx, id, events);
    const isBehind = expected < session.seq;
    const given = events.reduce((sum, event) => sum + bytesOf(event), 0);
    const plan = planAppend({
      seq: session.seq,
      expected,
      deviceId,
      events,
      known: await findNamed(tx, id, events),
      behind: isBehind
        ? // No more than the batch has: it cannot be a repeat of longer ones.
          await listEvents(tx, id, { after: expected, limit: events.length, bytes: given })
        : [],
    });
    if ('clash' in plan) {
      const why = `the id ${plan.clash} is that of another event of this session`;
      throw badRequest(`events: ${why}; each event needs one of its own`, { events: [why] });
    }
    if ('repeat' in plan) return plan.repeat;
    checkLease(session, deviceId);
    if ('conflict' in plan) {
      const message = `the session is at ${session.seq}, not ${expected}; read what came after and send it again`;
      throw new ApiError('seq_conflict', message, { details: { seq: session.seq } });
    }
    const bytes = plan.append.reduce((sum, event) => sum + bytesOf(event), 0);
    await this.#checkRoom(tx, session, plan.append.length, bytes);
    const after = await insertEvents(tx, clock, session, { events: plan.append, deviceId, bytes });
    const lease = session.is_held ? undefined : leaseOf(after);
    const turn = plan.append.some(({ type }) => type === 'turn_start' || type === 'turn_end');
    // The list of sessions shows where turns begin and end, not each word of them.
    if (turn) await this.#kernel.feed.record(tx, [sessionChange('updated', after)]);
    await this.streams.publish(tx, { sessionId: id, events: true, ...(turn && { turn }), ...(lease && { lease }) });
    return after.seq;
  }

  /** A control that was taken back is not begun: a device asks here last, and a repeat of its question is refused too. */
  async #checkWithdrawn(tx: Db, sessionId: string, events: readonly GivenEvent[]): Promise<void> {
    const begins = events.flatMap(({ type, turn_id }) => (type === 'turn_start' ? [turn_id] : []));
    const [withdrawn] = begins.length === 0 ? [] : await listWithdrawn(tx, sessionId, begins);
    if (withdrawn === undefined) return;
    throw new ApiError('control_withdrawn', `the control ${withdrawn} was taken back; do not begin it`);
  }

  async #checkRoom(tx: Db, session: SessionRow, events: number, bytes: number): Promise<void> {
    if (session.seq + events > mostEvents) {
      const message = `a session has ${mostEvents} events at most; go on in another one`;
      throw new ApiError('quota_exceeded', message, { headers: { 'x-should-retry': 'false', 'retry-after': '3600' } });
    }
    const blocks = (taken: number): number => Math.ceil(taken / blockBytes);
    const more = (blocks(session.bytes + bytes) - blocks(session.bytes)) * blockBytes;
    if (more > 0) await checkQuota(this.#kernel.config, tx, sessionBytesQuota, session.account_id, more);
  }

  /** Asks a device for something. Throws 404, 400 for a device that the account has not, 429 when too much waits for it. */
  async control(tx: Db, { accountId, sessionId, type, text, target, from }: Control): Promise<ControlRow> {
    const { clock } = this.#kernel;
    const session = await this.lock(tx, accountId, sessionId);
    const device = target === undefined ? (session.writer_id ?? undefined) : target;
    const refuse = (why: string) => badRequest(`target_device_id: ${why}`, { target_device_id: [why] });
    if (device === undefined) throw refuse('is required, as no device has written to this session');
    if (device !== null && (await findDevices(tx, accountId, [device])).length === 0)
      throw refuse('is no device of this account');
    if ((await countWaiting(tx, accountId, device, mostWaiting)) >= mostWaiting) {
      const whose = device === null ? 'the next device' : 'this device';
      const message = `${mostWaiting} controls wait for ${whose}; it has to acknowledge some first`;
      throw new ApiError('quota_exceeded', message, { headers: { 'retry-after': '60' } });
    }
    const control = {
      session_id: sessionId,
      account_id: accountId,
      type,
      text: text ?? null,
      target_device_id: device,
      from_device_id: from ?? null,
    };
    await this.#checkRoom(tx, session, 0, bytesOfControl(text));
    const row = await insertControl(tx, clock, control, mostControls);
    await this.streams.publish(tx, { sessionId, control: controlChange(row) });
    return row;
  }

  /**
   * Takes a control back: what its device has not begun, it does not begin. With `onlyWaiting` one that a device took stays as
   * it is. Undefined when there is no such control.
   */
  async withdraw(
    tx: Db,
    { accountId, sessionId, id }: { accountId: string; sessionId: string; id: string },
    { onlyWaiting = false } = {},
  ): Promise<{ control: ControlRow; isFirst: boolean; hasBegun: boolean } | undefined> {
    const { clock } = this.#kernel;
    // Locked, as an append is: a turn begins before this or not at all.
    if (!(await lockSession(tx, clock, accountId, sessionId))) return undefined;
    const control = await lockControl(tx, sessionId, id);
    if (!control) return undefined;
    const begun = await hasBegun(tx, sessionId, id);
    const isFirst = control.withdrawn_at === null && !(onlyWaiting && (control.acked_at !== null || begun));
    if (!isFirst) return { control, isFirst, hasBegun: begun };
    const withdrawn = await withdrawControl(tx, clock, id);
    await this.streams.publish(tx, { sessionId, control: controlChange(withdrawn) });
    return { control: withdrawn, isFirst, hasBegun: begun };
  }

  /** Gives a control that no device took another one; null: the next that listens. False when one took it, or it was taken back. */
  async redirect(
    tx: Db,
    { accountId, sessionId, id, target }: { accountId: string; sessionId: string; id: string; target: string | null },
  ): Promise<boolean> {
    if (!(await lockSession(tx, this.#kernel.clock, accountId, sessionId))) return false;
    const control = await lockControl(tx, sessionId, id);
    if (!control || control.acked_at !== null || control.withdrawn_at !== null) return false;
    if (await hasBegun(tx, sessionId, id)) return false;
    const moved = await retargetControl(tx, id, target);
    await this.streams.publish(tx, { sessionId, control: controlChange(moved) });
    return true;
  }

  /** Gives a desktop or Android device what waits for the account's next one. */
  async adopt(
    tx: Db,
    { accountId, deviceId }: { accountId: string; deviceId: string },
    listener: Pick<SessionListener, 'control'>,
  ): Promise<void> {
    const [device] = await findDevices(tx, accountId, [deviceId]);
    if (!device || !workPlatforms.includes(device.platform.toLowerCase())) return;
    const room = mostWaiting - (await countWaiting(tx, accountId, deviceId, mostWaiting));
    for (const control of await adoptControls(tx, accountId, deviceId, room)) {
      await listener.control(tx, control);
      await this.streams.publish(tx, { sessionId: control.session_id, control: controlChange(control) });
    }
  }

  /** The end of a turn of a session of the account, with what it came to; undefined: it has not ended. */
  endOf(
    db: Db,
    turn: { accountId: string; sessionId: string; turnId: string },
  ): Promise<Pick<SessionTurn, 'data'> | undefined> {
    return findEnd(db, turn);
  }

  /**
   * The text of a session, a paragraph for each turn and role: parts that were reported one by one are joined. `most` bounds its
   * UTF-16 units; of a longer text the end is kept.
   */
  async transcript(db: Db, id: string, most = mostTranscript): Promise<string> {
    let text = '';
    let last: SessionSaid | undefined;
    for await (const said of this.#said(db, id, most)) {
      if (said.text === undefined) continue;
      text += last && isOneSpeech(last, said) ? said.text : `${text === '' ? '' : '\n\n'}${said.who}: ${said.text}`;
      last = said;
      if (text.length > 2 * most) text = text.slice(-most);
    }
    return text.length > most ? `…${text.slice(1 - most)}`.toWellFormed() : text;
  }

  /** The same as what it is made of, with what turns came to and what tools answered, at most so many UTF-16 units from the end. */
  async record(db: Db, id: string, most: number): Promise<SessionSaid[]> {
    const entries: SessionSaid[] = [];
    for await (const said of this.#said(db, id, most)) {
      const last = entries.at(-1);
      if (last && isOneSpeech(last, said)) last.text = (last.text ?? '') + (said.text ?? '');
      else entries.push({ ...said });
    }
    const kept: SessionSaid[] = [];
    let left = most;
    for (const { data, ...said } of entries.toReversed()) {
      const whole = { ...said, ...(data && { data }) };
      left -= JSON.stringify(whole).length;
      if (left >= 0) kept.push(whole);
      // Data that does not fit goes whole, of a text the end stays.
      else if (said.text !== undefined) kept.push({ ...said, text: `…${said.text.slice(-left)}`.toWellFormed() });
      if (left <= 0) break;
    }
    return kept.toReversed();
  }

  async *#said(db: Db, id: string, most: number): AsyncGenerator<SessionSaid> {
    // A unit takes at most three bytes: what stands before is not kept.
    const from = await findSaidFrom(db, id, 3 * most);
    for (let after = Math.max(0, from - 1); ; ) {
      const rows = await listSaid(db, id, { after, limit: 500, bytes: readBytes });
      for (const { type, turn_id: turn, role, text, data } of rows) {
        const who = role ?? (type === 'turn_start' ? 'user' : type === 'tool' ? 'tool' : 'assistant');
        yield { type, turn, who, ...(text !== null && { text }), ...(data !== null && { data }) };
      }
      const last = rows.at(-1);
      if (!last) return;
      after = last.seq;
    }
  }
}

/** Something that was said in a session, or what a turn or tool came to. */
export interface SessionSaid {
  type: string;
  turn: string;
  who: string;
  text?: string;
  data?: Record<string, unknown>;
}

/** Deltas of one turn and role are one text. */
const isOneSpeech = (before: SessionSaid, { type, turn, who }: SessionSaid): boolean =>
  type === 'delta' && before.type === 'delta' && before.turn === turn && before.who === who;

/** Throws 409 `lease_held` when another device writes. */
export function checkLease(session: SessionRow, deviceId: string): void {
  const lease = leaseOf(session);
  if (!lease || lease.device_id === deviceId) return;
  const message = `another device writes to this session until ${lease.expires_at}, or longer; ask it by a control`;
  throw new ApiError('lease_held', message, { details: { lease } });
}
