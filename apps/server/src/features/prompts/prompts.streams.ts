import { type Broadcast, createBroadcast } from '../../kernel/streams/broadcast.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { findPrompts } from './prompts.sql.ts';
import { toPrompt } from './prompts.view.ts';

/** A change of a prompt: ids only, as the bus carries 8,000 bytes. */
interface Change {
  accountId: string;
  id: string;
  op: 'create' | 'update' | 'delete';
  /** It is to be launched or told of by itself, maybe now. */
  armed?: boolean;
}

/** Sends changes of prompts to the open streams of this gateway, in their order. */
export class PromptStreams {
  readonly broadcast: Broadcast<Change>;
  readonly #kernel: Kernel;
  #last: Promise<void> = Promise.resolve();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.broadcast = createBroadcast(kernel, 'prompts.changed');
  }

  /** Tells every gateway once `db` is committed. */
  publish(db: Db, change: Change): Promise<void> {
    return this.broadcast.publish(db, change);
  }

  /** Sends a change to those who follow here. */
  send(change: Change): Promise<void> {
    if (!this.broadcast.isFollowed(change.accountId)) return Promise.resolve();
    this.#last = this.#last.then(() => this.#send(change));
    return this.#last;
  }

  async #send({ accountId, id, op }: Change): Promise<void> {
    try {
      const [row] = op === 'delete' ? [] : await findPrompts(this.#kernel.sql, [id]);
      // A prompt that was deleted meanwhile has a change of its own.
      if (op !== 'delete' && !row) return;
      this.broadcast.send(accountId, 'prompt', { op, prompt: row ? toPrompt(row) : { id } });
    } catch (err) {
      this.#kernel.log.warn({ err }, 'a change of a prompt was not read; streams of its account end');
      this.broadcast.end(accountId);
    }
  }
}
