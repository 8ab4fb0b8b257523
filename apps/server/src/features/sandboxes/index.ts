import type { Manifest } from '../../kernel/feature.ts';
import { sandboxes } from './sandboxes.moves.ts';
import { sandboxCaps, sandboxMemoryQuota } from './caps/caps.ts';
import type { Readable } from 'node:stream';
import { contract, defaultTemplate } from '@svc/contract';
import type { Template } from '@svc/sandboxd-api';
import { bySystem } from '../../kernel/records/audit.ts';
import type { Actor } from '../../kernel/base/actor.ts';
import { checkCaller } from '../../kernel/mount/access.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { collectFrom } from './artifacts.ts';
import { entriesOf } from './listFiles.ts';
import { openFile } from './readFile.ts';
import { destroy } from './remove.ts';
import { runOnce } from './run.ts';
import { runCell } from './runCode.ts';
import { type Caller, type Command, runCommand } from './nodes/commands.ts';
import { createSandbox, isReady, type WantedSandbox } from './sandboxes.create.ts';
import { endOfAccount } from './sandboxes.keeper.ts';
import { sandboxesRestored } from './sandboxes.restored.ts';
import { moveSandbox } from './sandboxes.moves.ts';
import { toApiFailure } from './nodes/failures.ts';
import { Nodes } from './nodes/nodes.ts';
import type { Mover } from './sandboxes.running.ts';
import { findSandbox, forgetOldAudit, type SandboxRow } from './sandboxes.sql.ts';
import { writeBytes } from './writeFile.ts';

export type { Caller } from './nodes/commands.ts';
export { listLostNodes, listMachinesElsewhere, listRefusedNodes } from './nodes/nodes.sql.ts';
export { clonedFix, clonedText } from './nodes/clones.ts';
export { listClones } from './nodes/clones.sql.ts';
export { findNodeId, mayHaveNode } from './nodes/beside.ts';
export { refusedFix, refusedText } from './nodes/elsewhere.ts';
export { aheadFix, aheadText } from './nodes/fence.ts';
export { listNodesAhead, takeNodesOver } from './nodes/fence.sql.ts';

/** Throws 403 when an operator switched sandboxes off for the account. */
export function checkEnabled({ features }: Actor): void {
  if (features['sandboxes'] !== false) return;
  throw new ApiError('forbidden', 'sandboxes are not enabled for this account; ask its operator');
}

/** The operations on sandboxes that other features use. */
export class Sandboxes {
  readonly #kernel: Kernel;
  /** The nodes that this gateway reaches. */
  readonly nodes: Nodes;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.nodes = new Nodes(kernel);
  }

  /** Throws what a route of sandboxes answers a caller that may not use them. */
  check(actor: Actor): void {
    checkCaller({ name: 'sandboxes', gate: checkEnabled }, contract.sandboxes.create, actor);
  }

  /** Whether a node has the image of a template, so that a sandbox of it need not wait for its build. */
  has(template: Template): boolean {
    return this.nodes.all().some(({ status }) => status.images.some(isReady(template)));
  }

  /** The account's sandbox, whatever its state. */
  find(accountId: string, id: string): Promise<SandboxRow | undefined> {
    return findSandbox(this.#kernel.sql, accountId, id);
  }

  /** Makes a sandbox, as its route does. */
  create(caller: Caller, wanted: WantedSandbox): Promise<SandboxRow> {
    return createSandbox(caller, this.nodes, wanted);
  }

  /** Lets a running sandbox live for at least so long from now; answers whether it runs. */
  async extend({ actor, by }: Mover, id: string, ttlSeconds: number): Promise<boolean> {
    const owned = await this.find(actor.accountId, id);
    const row = owned && (await moveSandbox(this.#kernel, id, 'extend', { by, ttlSeconds }));
    if (!row) return false;
    try {
      await this.nodes.of(row.node_id).change(id, { expires_at: Date.parse(row.expires_at) });
      return true;
    } catch (error) {
      throw toApiFailure(error);
    }
  }

  /** Destroys a sandbox, as its route does. */
  destroy(caller: Mover, id: string) {
    return destroy(caller, this.nodes, id);
  }

  /** Runs a command, as its route does. */
  async exec(caller: Caller, id: string, command: Command) {
    return (await runCommand(caller, this.nodes, id, command)).result;
  }

  /** Runs Python in the kernel of the sandbox, as its route does. */
  runCode(caller: Caller, id: string, cell: { code: string; timeoutSeconds: number }) {
    return runCell(caller, this.nodes, id, cell);
  }

  /** Writes a file, as its route does. */
  writeFile(caller: Mover, file: { id: string; path: string }, body: Readable) {
    return writeBytes(caller, this.nodes, file, body);
  }

  /** Opens a file, as its route does. */
  readFile(caller: Mover, file: { id: string; path: string }) {
    return openFile(caller, this.nodes, file);
  }

  /** The entries of a directory, as its route answers them. */
  listFiles(caller: Mover, directory: { id: string; path: string }) {
    return entriesOf(caller, this.nodes, directory);
  }

  /** Collects what the sandbox hands out, as its route does. */
  artifacts(caller: Mover, id: string) {
    return collectFrom(caller, this.nodes, id);
  }

  /** A caller for what the platform does later for a key that asked for it. */
  callerFor(actor: Actor, signal: AbortSignal): Caller {
    return { kernel: this.#kernel, actor, by: bySystem, signal, frames: undefined };
  }

  /** Runs a shell command later for a key that asked for it: one shot, no inputs. */
  async runShell(
    actor: Actor,
    command: { cmd?: string[]; shell?: string; cwd?: string; timeoutSeconds: number },
    signal: AbortSignal,
  ) {
    const { timeoutSeconds, ...what } = command;
    return runOnce(this.callerFor(actor, signal), this.nodes, {
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

/** The feature without a running platform. */
export const sandboxesManifest: Manifest = {
  name: 'sandboxes',
  restored: sandboxesRestored,
  data: {
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
  },
  machines: [sandboxes],
  quotas: [...sandboxCaps, sandboxMemoryQuota],
};
const forgottenAtOnce = 5_000;
