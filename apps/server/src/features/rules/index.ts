import type { AccountData } from '../../kernel/deletion.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Judgement, judgementOf } from './rules.decide.ts';
import { rulesFor } from './rules.sql.ts';

export { rulesCommands } from './rules.commands.ts';
export type { Judgement, RuledTool } from './rules.decide.ts';

/** The rules gate of the tools (document 1, Tools). */
export class Rules {
  readonly #kernel: Pick<Kernel, 'sql'>;

  constructor(kernel: Pick<Kernel, 'sql'>) {
    this.#kernel = kernel;
  }

  /** What the rules say to an account now: one query, so that a change holds from the next request on, everywhere. */
  async for(accountId: string): Promise<Judgement> {
    return judgementOf(await rulesFor(this.#kernel.sql, accountId));
  }
}

/** What it keeps of an account. */
export const rulesData: AccountData = { name: 'rules', tables: ['rules.rules'] };
