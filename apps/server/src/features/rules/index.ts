import type { Manifest } from '../../kernel/feature.ts';
import { rulesCommands } from './rules.commands.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Judgement, judgementOf } from './rules.decide.ts';
import { rulesFor } from './rules.sql.ts';

export type { Judgement, RuledTool } from './rules.decide.ts';

/** The rules gate of the tools (document 1, Tools). */
export class Rules {
  readonly #kernel: Pick<Kernel, 'sql'>;

  constructor(kernel: Pick<Kernel, 'sql'>) {
    this.#kernel = kernel;
  }

  /** The judgement of the rules for an account now: one query, so that a change holds from the next request on, everywhere. */
  async for(accountId: string): Promise<Judgement> {
    return judgementOf(await rulesFor(this.#kernel.sql, accountId));
  }
}

/** The feature without a running platform. */
export const rulesManifest: Manifest = {
  name: 'rules',
  data: {
    tables: ['rules.rules'],
  },
  commands: rulesCommands,
};
