import { type Broadcast, createBroadcast } from '../../kernel/streams/broadcast.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type InboxChange, changed } from './notifications.notify.ts';
import { findNotifications } from './notifications.sql.ts';
import { toRecord } from './notifications.view.ts';

/** Ids read in one query. */
const batch = 500;

/** Sends changes of inboxes to the open streams of this gateway. Messages carry ids; the rows are read here. */
export class InboxStreams {
  readonly broadcast: Broadcast<InboxChange>;
  readonly #kernel: Kernel;
  #waiting: InboxChange[] = [];
  #sending = false;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.broadcast = createBroadcast(kernel, changed);
  }

  /** Sends in the order of the changes; what came meanwhile is read in one query. */
  async send(change: InboxChange): Promise<void> {
    const { readAll, ids } = change;
    const here = ids?.filter(({ accountId }) => this.broadcast.isFollowed(accountId));
    if (readAll && this.broadcast.isFollowed(readAll.accountId)) this.#waiting.push({ readAll });
    if (here && here.length > 0) this.#waiting.push({ ...change, ids: here });
    if (this.#sending) return;
    this.#sending = true;
    try {
      while (this.#waiting.length > 0) {
        const changes = this.#waiting.splice(0, batch);
        try {
          await this.#sendWaiting(changes);
        } catch (err) {
          this.#kernel.log.warn({ err }, 'changes of inboxes were not read; their streams end');
          const accounts = changes.flatMap(({ readAll, ids = [] }) => [...(readAll ? [readAll] : []), ...ids]);
          for (const { accountId } of accounts) this.broadcast.end(accountId);
        }
      }
    } finally {
      this.#sending = false;
    }
  }

  async #sendWaiting(changes: readonly InboxChange[]): Promise<void> {
    const ids = new Set(changes.flatMap((change) => change.ids ?? []).map(({ id }) => id));
    const rows = ids.size === 0 ? [] : await findNotifications(this.#kernel.sql, [...ids]);
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const { op, ids, readAll } of changes) {
      if (readAll) this.broadcast.send(readAll.accountId, 'read_all', { at: readAll.at });
      for (const { id } of ids ?? []) {
        const row = byId.get(id);
        if (row) this.broadcast.send(row.account_id, 'notification', { op, ...toRecord(this.#kernel.config, row) });
      }
    }
  }
}
