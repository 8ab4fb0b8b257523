import { ApiError } from '../../../kernel/base/errors.ts';
import type { NodeRow } from './nodes.sql.ts';

/** To callers, who are told of no machine's name. */
const elsewhereText =
  'the sandboxes of this platform are on another machine, whose gateways alone reach them: ask there, or tell the operator';

/** A refusal that no repetition at this gateway mends. */
export const elsewhere = (): ApiError =>
  new ApiError('sandbox_capacity', elsewhereText, { headers: { 'retry-after': '60', 'x-should-retry': 'false' } });

/** What operators are told of a node that is refused for one on another machine. */
export const refusedText = (own: string, first: string): string =>
  `the node of ${own} gets no new sandbox: those of this platform are on ${first}, and gateways reach the node beside them only`;
/** What to do about it. */
export const refusedFix =
  'keep nodes on one machine: on the others ./svc up --only gateway or --only worker in place of ./svc up (docs/grow.md)';

/** Nodes as the database has them, in the eyes of a process that reaches some. */
export class Elsewhere {
  #rows: readonly NodeRow[] = [];

  /**
   * `own`: the machine that this process runs on. `isReached`: it ever did; a node that containers share is of the machine of whoever
   * asked it last, and may just be starting anew.
   */
  look(rows: readonly NodeRow[], own: string, isReached: (id: string) => boolean): void {
    const isOther = ({ machine }: NodeRow): boolean => machine !== null && machine !== own;
    this.#rows = rows.filter((row) => row.seen && !row.refused && isOther(row) && !isReached(row.id));
  }

  /** Whether a node is there for others. */
  has(id: string): boolean {
    return this.#rows.some((row) => row.id === id);
  }

  /** Whether new sandboxes go to a node that this process does not reach. */
  get isAll(): boolean {
    return this.#rows.length > 0;
  }

  /** Whether a process that does what is due by the clock is beside such a node: it runs what this one cannot. */
  get hasWorker(): boolean {
    return this.#rows.some(({ works }) => works);
  }
}
