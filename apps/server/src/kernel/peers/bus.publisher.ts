import type { Clock } from '../base/clock.ts';
import { type DatabaseTarget, openDatabase, type Sql } from '../db/db.ts';

/** Channels of ours in a database that others may use too. */
export const channelPrefix = 'svc:';
/** The largest message of Postgres, less its closing NUL and the bytes that make equal messages different. */
const mostBytes = 7_980;
/** Messages that wait while one statement is under way; a database that hangs must not fill the memory. */
const mostWaitingBytes = 4 * 1024 * 1024;
/** A statement that takes this long has a connection that is dead without a word. */
const hungMs = 5_000;

interface Message {
  channel: string;
  text: string;
  done: PromiseWithResolvers<void>;
}

/** A payload as text; throws when Postgres would not carry it. */
export function payloadOf(payload: unknown): string {
  const text = JSON.stringify(payload);
  if (Buffer.byteLength(text) > mostBytes) throw new Error(`a message has over ${mostBytes} bytes`);
  return text;
}

/**
 * Sends NOTIFY on a connection of its own. A transaction that notifies holds one lock over the whole server until its
 * commit is on disk: with 16 writers that took commits from 4,916 to 1,656 a second. Here the lock is held for a commit
 * that waits for no disk, as nobody relies on a message, and what comes while a statement runs shares the next one.
 */
export class Publisher {
  readonly #target: DatabaseTarget;
  readonly #clock: Clock;
  #sql: Sql;
  #waiting: Message[] = [];
  #waitingBytes = 0;
  #isSending = false;

  constructor(target: DatabaseTarget, clock: Clock) {
    this.#target = target;
    this.#clock = clock;
    this.#sql = this.#connect();
  }

  /** Sends JSON text; resolves once that is done, fails when it was not. Messages of one process keep their order. */
  send(topic: string, text: string): Promise<void> {
    if (this.#waitingBytes + text.length > mostWaitingBytes) {
      return Promise.reject(new Error('too many messages wait to be sent'));
    }
    const message = { channel: channelPrefix + topic, text, done: Promise.withResolvers<void>() };
    this.#waiting.push(message);
    this.#waitingBytes += text.length;
    if (!this.#isSending) void this.#send();
    return message.done.promise;
  }

  /** Gives what is under way a second to end. */
  async close(): Promise<void> {
    await this.#sql.end({ timeout: 1 });
  }

  #connect(): Sql {
    return openDatabase(this.#target, 1, { use: 'bus', idle_timeout: 0, max_lifetime: null });
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      this.#waitingBytes = 0;
      const sql = this.#sql;
      const cancel = this.#clock.after(hungMs, () => {
        // The statement fails, and the next one goes out on another connection.
        this.#sql = this.#connect();
        void sql.end({ timeout: 0 }).catch(() => {});
      });
      try {
        // Postgres calls the function row by row: the order of the messages.
        await sql`
          select set_config('synchronous_commit', 'off', true), pg_notify(m.channel, m.text)
          from json_to_recordset(${JSON.stringify(toldApart(batch))}::json) as m(channel text, text text)`;
        for (const { done } of batch) done.resolve();
      } catch (error) {
        for (const { done } of batch) done.reject(error);
      }
      cancel();
    }
    this.#isSending = false;
  }
}

/**
 * Postgres sends equal messages of one transaction once. Each further one gets white space of its own at its end, which
 * JSON ignores: its number, of up to eight signs to the base of four.
 */
function toldApart(batch: readonly Message[]): { channel: string; text: string }[] {
  const seen = new Map<string, number>();
  return batch.map(({ channel, text }) => {
    const key = `${channel} ${text}`;
    const times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    const mark = times === 0 ? '' : times.toString(4).replace(/\d/g, (digit) => ' \n\t\r'[Number(digit)] as string);
    return { channel, text: text + mark };
  });
}
