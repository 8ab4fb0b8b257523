import type { Kernel } from '../../../kernel/kernel.ts';
import { type Claim, forgetClone, noteClone } from './clones.sql.ts';
import { NodeRefused } from './lateness.ts';

/** What operators are told of a machine whose node has the id of another one. */
export const clonedText = (id: string, own: string, first: string): string =>
  `two machines have the node ${id}, as copies of one image do: that of ${first} goes on, that of ${own} is refused`;
/** What to do about it. */
export const clonedFix =
  'on the machine that is refused: end svc, remove sandboxd/node-id from its data dir, and start it anew (docs/grow.md)';

/** What a process says of the node beside it. */
export const cloneText = 'the node of this machine has the id of another one that lives, and is refused';

/** The node of this machine has the id of another one that lives, or has just ended. */
class CloneRefused extends NodeRefused {
  override name = 'CloneRefused';
}

/** Nodes beside this process whose id is another one's. */
export class Clones {
  readonly #kernel: Kernel;
  /** By id: the address of the node that has it too. */
  readonly #refused = new Map<string, string>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Whether the node beside this process is refused for one that lives. */
  get isAny(): boolean {
    return this.#refused.size > 0;
  }

  /** Keeps that a node is not the one of its id, tells it once where that one lives, and throws. */
  async refuse(claim: Claim): Promise<never> {
    const { sql, clock, log, machine } = this.#kernel;
    const { id, address } = claim;
    const { livesOn } = await noteClone(sql, clock, claim);
    if (livesOn !== undefined && !this.#refused.has(id)) {
      this.#refused.set(id, address);
      log.error({ node: id }, `${clonedText(id, machine.name, livesOn)}; ${clonedFix}`);
    }
    throw new CloneRefused(`another node has the id ${id}`);
  }

  /** What answers at this address has an id of its own now. */
  replaced({ id, address }: Pick<Claim, 'id' | 'address'>): void {
    for (const [refused, at] of this.#refused) if (at === address && refused !== id) this.#refused.delete(refused);
  }

  /** Nobody has seen a clone for a while. */
  forget(): void {
    this.#refused.clear();
  }

  /** A node has its id for itself. */
  async accept(claim: Claim): Promise<void> {
    await forgetClone(this.#kernel.sql, claim);
    if (this.#refused.delete(claim.id))
      this.#kernel.log.info({ node: claim.id }, 'no other node has the id of this one');
  }
}
