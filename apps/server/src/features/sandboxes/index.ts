import type { AccountData } from '../../kernel/deletion.ts';
import { endOfAccount } from './sandboxes.keeper.ts';
import { forgetOldAudit } from './sandboxes.sql.ts';
import { defaultTemplate } from '@svc/contract';
import { bySystem } from '../../kernel/audit.ts';
import type { Actor } from '../../kernel/http/actor.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { runOnce } from './run.ts';
import { Nodes } from './sandboxes.nodes.ts';
import { platformKey } from './sandboxes.sql.ts';

/** What other features do with sandboxes. */
export class Sandboxes {
  readonly #kernel: Kernel;
  /** The nodes that this gateway reaches. */
  readonly nodes: Nodes;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.nodes = new Nodes(kernel);
  }

  /** Runs a shell command of the platform's own accord, for an account: one shot, no key, no inputs. */
  async runShell(
    accountId: string,
    command: { cmd?: string[]; shell?: string; cwd?: string; timeoutSeconds: number },
    signal: AbortSignal,
  ) {
    const { timeoutSeconds, ...what } = command;
    const caller = { kernel: this.#kernel, actor: ofPlatform(accountId), by: bySystem, signal, frames: undefined };
    return runOnce(caller, this.nodes, {
      ...what,
      env: {},
      inputs: [],
      metadata: {},
      template: defaultTemplate,
      egress: { mode: 'none' },
      timeout_seconds: timeoutSeconds,
    });
  }
}

/** The platform itself, on behalf of an account: what it starts counts towards no key's cap but its own. */
const ofPlatform = (accountId: string): Actor => ({
  accountId,
  keyId: platformKey,
  subscription: 'active',
  suspended: false,
  scopes: ['*'],
  toolLevel: 'l3_sandbox',
  models: undefined,
  spendCapMicroUsd: undefined,
  expiresAt: undefined,
  spent: false,
  features: {},
});

/** What it keeps of an account. */
export const sandboxesData: AccountData = {
  name: 'sandboxes',
  tables: ['sandboxes.previews', 'sandboxes.sandboxes'],
  async end(parts, { accountId }) {
    const { ended, left } = await endOfAccount(parts, accountId);
    let lines = 0;
    for (let gone = -1; gone !== 0; lines += gone)
      gone = await forgetOldAudit(parts.sql, { accountId }, forgottenAtOnce);
    return {
      deleted: { 'sandboxes.running': ended, 'sandboxes.audit': lines },
      left: { 'sandboxes.running': left },
    };
  },
};

const forgottenAtOnce = 5_000;
