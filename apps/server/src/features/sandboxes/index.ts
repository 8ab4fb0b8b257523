import type { Duplex } from 'node:stream';
import type { Actor, Context, Kernel } from '../../kernel/context.ts';
import type { Feature } from '../../kernel/feature.ts';
import { create } from './create.ts';
import { exec } from './exec.ts';
import { fork } from './fork.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { pause } from './pause.ts';
import { remove } from './remove.ts';
import { resetKernel } from './resetKernel.ts';
import { resume } from './resume.ts';
import { run, runOnce } from './run.ts';
import { runCode } from './runCode.ts';
import { Keeper } from './sandboxes.keeper.ts';
import { Nodes } from './sandboxes.nodes.ts';
import { outputsOf, type Running, runningSandbox } from './sandboxes.running.ts';
import { deleteOldSandboxes, nextGeneration, nodeOfRunning, platformKey } from './sandboxes.sql.ts';

export { checkTtl } from './sandboxes.create.ts';
export { toApiFailure } from './sandboxes.nodes.ts';
export type { Running } from './sandboxes.running.ts';

/** What other features do with sandboxes. */
export class Sandboxes {
  readonly #kernel: Kernel;
  readonly nodes: Nodes;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.nodes = new Nodes(kernel);
  }

  /** A sandbox of the caller's that runs: 404 for what is not theirs, 409 for one that does not run. */
  running(context: Pick<Context, 'db' | 'actor'>, id: string): Promise<Running> {
    return runningSandbox(context, this.nodes, id);
  }

  /** What it hands out, to the holder of a key. */
  outputsOf(running: Running, { keyId }: Pick<Actor, 'keyId'>) {
    const { id, account_id: accountId } = running.row;
    return outputsOf(this.#kernel, running.node, { id, accountId, keyId });
  }

  /** Runs a shell command of the platform's own accord, for an account: one shot, no key, no inputs. */
  async runShell(
    accountId: string,
    command: { cmd?: string[]; shell?: string; cwd?: string; timeoutSeconds: number },
    signal: AbortSignal,
  ) {
    const { timeoutSeconds, ...what } = command;
    const caller = { kernel: this.#kernel, actor: ofPlatform(accountId), signal, frames: undefined };
    return runOnce(caller, this.nodes, {
      ...what,
      env: {},
      inputs: [],
      metadata: {},
      template: 'svc-base',
      egress: { mode: 'none' },
      timeout_seconds: timeoutSeconds,
    });
  }

  /** Counts a change of its workspace; answers the new generation. */
  nextGeneration(id: string): Promise<number> {
    return nextGeneration(this.#kernel.sql, id);
  }

  /** A connection to a port inside a sandbox that runs, for whoever was admitted already. */
  async connect(id: string, port: number): Promise<Duplex> {
    return this.nodes.of(await nodeOfRunning(this.#kernel.sql, id)).connect(id, port);
  }
}

/** The platform itself, on behalf of an account: what it starts counts towards no key's cap but its own. */
const ofPlatform = (accountId: string): Actor => ({
  accountId,
  keyId: platformKey,
  subscription: 'active',
  scopes: ['*'],
  toolLevel: 'l3_sandbox',
  models: undefined,
  spendCapMicroUsd: undefined,
  expiresAt: undefined,
  spent: false,
  features: {},
});

/** On every answer of a sandbox route (document 3, Limits). */
export const sandboxHeaders = (kernel: Kernel): Readonly<Record<string, string>> => ({
  'x-svc-cost-micro-usd': '0',
  'x-svc-data-region': kernel.config.dataRegion,
});

/** Isolated workspaces. */
export function sandboxesFeature(kernel: Kernel, { nodes }: Sandboxes): Feature {
  const keeper = new Keeper(kernel, nodes);
  return {
    name: 'sandboxes',
    headers: sandboxHeaders(kernel),
    operations: {
      list,
      get,
      create: create(nodes),
      remove: remove(nodes),
      exec: exec(nodes),
      run: run(nodes),
      runCode: runCode(nodes),
      resetKernel: resetKernel(nodes),
      pause: pause(nodes),
      resume: resume(nodes),
      fork: fork(nodes),
    },
    jobs: [
      {
        name: 'sandboxes.sweep',
        cron: '41 3 * * *',
        retries: 0,
        run: ({ sql, clock }) => deleteOldSandboxes(sql, clock),
      },
    ],
    async start() {
      await keeper.start();
      return { stop: () => keeper.stop() };
    },
  };
}
