import type { NodeClient, SandboxState } from '@svc/sandboxd-api';
import type { Kernel } from '../../../kernel/kernel.ts';
import { forgetCreation } from '../sandboxes.moves.ts';

/** A node as far as this needs it. */
interface Holder {
  readonly id: string;
  readonly client: NodeClient;
}

/**
 * What a node holds and no row has ever stood for is not destroyed before this: after a restore, or at a copy that took the
 * node over, it is somebody's work. Until then it stands still.
 */
const unknownMs = 24 * 3_600_000;
/** Sandboxes that this process gave up in their making and whose end is not known: no more are waited for. */
const mostGivenUp = 10_000;

/** Sandboxes that no row has ever stood for. */
export class Unknown {
  readonly #kernel: Kernel;
  readonly #givenUp = new Set<string>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** The making of one came to nothing: its row goes, and what a node has of it is nobody's. */
  async giveUp(id: string): Promise<void> {
    this.#givenUp.add(id);
    for (const oldest of this.#givenUp) if (this.#givenUp.size > mostGivenUp) this.#givenUp.delete(oldest);
    await forgetCreation(this.#kernel.sql, id);
  }

  /** Whether one may be destroyed. It stands still from the first look on; its node keeps since when. */
  async isOver(node: Holder, state: SandboxState): Promise<boolean> {
    if (this.#givenUp.has(state.id)) return true;
    const { frozen_at: since } = state;
    if (since !== undefined) return this.#kernel.clock.now() - since >= unknownMs;
    this.#kernel.log.warn(
      { sandbox: state.id, node: node.id },
      'no row stands for a sandbox; it stands still for a day',
    );
    await this.#freeze(node, state.id, true);
    return false;
  }

  /** A row stands for it: another platform may have known nothing of it for a while. */
  async isKnown(node: Holder, state: SandboxState | undefined): Promise<void> {
    if (state?.frozen_at !== undefined) await this.#freeze(node, state.id, false);
  }

  /** A node of the release before cannot; nothing behind this one waits for it. */
  async #freeze(node: Holder, id: string, frozen: boolean): Promise<void> {
    await node.client.freeze(id, frozen).catch((err: unknown) => {
      this.#kernel.log.warn({ err, sandbox: id, frozen }, 'a sandbox was not told to stand still or to go on');
    });
  }
}
