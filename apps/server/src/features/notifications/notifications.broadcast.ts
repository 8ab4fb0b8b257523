import type { Kernel } from '../../kernel/kernel.ts';
import type { EventStream } from '../../kernel/sse.ts';
import type { Change } from './notifications.notify.ts';
import { findNotifications } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';

/** Ids read in one query. */
const batch = 500;

/** The open streams of this gateway, by account, and what they are to be told. */
export class Broadcast {
  readonly #kernel: Kernel;
  readonly #streams = new Map<string, Set<EventStream>>();
  #waiting: Change[] = [];
  #telling = false;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  add(accountId: string, stream: EventStream): void {
    const streams = this.#streams.get(accountId) ?? new Set();
    this.#streams.set(accountId, streams.add(stream));
    stream.onClose(() => {
      streams.delete(stream);
      if (streams.size === 0 && this.#streams.get(accountId) === streams) this.#streams.delete(accountId);
    });
  }

  /** Tells the streams in the order of the changes; what came meanwhile is read in one query. */
  async tell(change: Change): Promise<void> {
    const { readAll, ids } = change;
    const here = ids?.filter(({ accountId }) => this.#streams.has(accountId));
    if (readAll && this.#streams.has(readAll.accountId)) this.#waiting.push({ readAll });
    if (here && here.length > 0) this.#waiting.push({ ...change, ids: here });
    if (this.#telling) return;
    this.#telling = true;
    try {
      while (this.#waiting.length > 0) await this.#tellWaiting(this.#waiting.splice(0, batch));
    } finally {
      this.#telling = false;
    }
  }

  /** Messages may have been missed: clients come back and read the list. */
  endAll(): void {
    for (const streams of this.#streams.values()) for (const stream of streams) stream.end();
  }

  async #tellWaiting(changes: readonly Change[]): Promise<void> {
    const ids = new Set(changes.flatMap((change) => change.ids ?? []).map(({ id }) => id));
    const rows = ids.size === 0 ? [] : await findNotifications(this.#kernel.sql, [...ids]);
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const { op, ids, readAll } of changes) {
      if (readAll) this.#send(readAll.accountId, 'read_all', { at: readAll.at });
      for (const { id } of ids ?? []) {
        const row = byId.get(id);
        if (row) this.#send(row.account_id, 'notification', { op, ...toRecord(row) });
      }
    }
  }

  #send(accountId: string, event: string, data: object): void {
    const text = JSON.stringify(data);
    for (const stream of this.#streams.get(accountId) ?? []) stream.sendText(event, text);
  }
}
