import type { SandboxState } from '@svc/sandboxd-api';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Node } from './nodes.ts';

/**
 * What a node holds and no row has ever stood for is not destroyed before this: after a restore, or at a copy that took the
 * node over, it is somebody's work. Until then it stands still.
 */
const unknownMs = 24 * 3_600_000;

/** Sandboxes that no row has ever stood for. */
export class Unknown {
  readonly #kernel: Kernel;
  /** Since when this process has seen each; as many as the nodes hold. */
  readonly #since = new Map<string, number>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Stops one where it stands; answers whether a day has passed since it was seen first. */
  async isOver(node: Node, state: SandboxState): Promise<boolean> {
    const now = this.#kernel.clock.monotonic();
    const since = this.#since.get(state.id) ?? now;
    this.#since.set(state.id, since);
    if (now - since >= unknownMs) return this.#since.delete(state.id);
    if (state.status !== 'running' || state.frozen) return false;
    this.#kernel.log.warn(
      { sandbox: state.id, node: node.id },
      'no row stands for a sandbox; it stands still for a day',
    );
    await node.client.freeze(state.id, true);
    return false;
  }

  /** A row stands for it: another platform may have known nothing of it for a while. */
  async isKnown(node: Node, state: SandboxState | undefined): Promise<void> {
    if (!state) return;
    this.#since.delete(state.id);
    if (state.frozen) await node.client.freeze(state.id, false);
  }
}
