import { type DatabaseTarget, openDatabase, type Sql } from '../db/db.ts';

/** Channels of ours in a database that others may use too. */
export const channelPrefix = 'svc:';
/** What Postgres carries in one message, less its closing NUL. */
const mostBytes = 7_999;
/** Messages that wait while one statement is under way; a database that hangs must not fill the memory. */
const mostWaitingBytes = 4 * 1024 * 1024;

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
  readonly #sql: Sql;
  #waiting: Message[] = [];
  #waitingBytes = 0;
  #isSending = false;

  constructor(target: DatabaseTarget) {
    this.#sql = openDatabase(target, 1, { idle_timeout: 0, max_lifetime: null, fetch_types: false });
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

  /** Lets what is under way end. */
  async close(): Promise<void> {
    await this.#sql.end({ timeout: 1 });
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      try {
        const messages = JSON.stringify(batch.map(({ channel, text }) => ({ channel, text })));
        // Of a set of functions in one list Postgres runs each row's in turn: the order of the messages.
        await this.#sql`
          select set_config('synchronous_commit', 'off', true), pg_notify(m.channel, m.text)
          from json_to_recordset(${messages}::json) as m(channel text, text text)`;
        for (const { done } of batch) done.resolve();
      } catch (error) {
        for (const { done } of batch) done.reject(error);
      }
    }
    this.#isSending = false;
  }

  /** What waits, up to a message that says the same as an earlier one: Postgres would send the two as one. */
  #take(): Message[] {
    const seen = new Set<string>();
    const repeated = this.#waiting.findIndex(({ channel, text }) => {
      const known = seen.has(channel + text);
      seen.add(channel + text);
      return known;
    });
    const batch = this.#waiting.splice(0, repeated < 0 ? this.#waiting.length : repeated);
    for (const { text } of batch) this.#waitingBytes -= text.length;
    return batch;
  }
}
