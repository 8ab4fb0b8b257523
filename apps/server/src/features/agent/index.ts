import type { Manifest } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Asked, type Inference, keepAlive } from '../inference/index.ts';
import { objectOf } from '@svc/inference';
import type { TranscriptsReader } from '../transcripts/index.ts';
import type { Sandboxes } from '../sandboxes/index.ts';
import { StreamedAnswer, WholeAnswer } from './agent.answer.ts';
import { Conversation } from './agent.loop.ts';
import { asksForTools, readWanted } from './agent.request.ts';
import { runTask, type Task, type TaskResult } from './agent.task.ts';
import { toolsFor } from './agent.tools.ts';
import { Workbench } from './agent.workbench.ts';

export { refuseOurs } from './agent.request.ts';
export type { Task, TaskResult } from './agent.task.ts';

/** Models that use tools of ours: in requests that ask for them, and by themselves on a schedule. */
export class Agent {
  readonly #kernel: Kernel;
  readonly #inference: Inference;
  readonly #sandboxes: Sandboxes;
  readonly #recordings: TranscriptsReader;

  constructor(
    kernel: Kernel,
    inference: Inference,
    { sandboxes, recordings }: { sandboxes: Sandboxes; recordings: TranscriptsReader },
  ) {
    this.#kernel = kernel;
    this.#inference = inference;
    this.#sandboxes = sandboxes;
    this.#recordings = recordings;
  }

  /** Answers a request: with tools of ours if it asks for some, else as its lane does. */
  async run(context: Context, asked: Asked & { protocol: 'chat' | 'messages' }): Promise<void> {
    // A caller without the right to a sandbox gets that refusal, not one about the entry.
    if (asksForTools(asked.body)) this.#sandboxes.check(context.actor);
    const wanted = readWanted(asked.body);
    if (!wanted) return this.#inference.run(context, asked);
    const { protocol, body } = asked;
    const { setup } = wanted;
    const choices = this.#inference.choicesFor(context, body.model, wanted.body);
    const rest = this.#inference.bounded(context, protocol, wanted.body, choices);
    const session = context.headers['x-svc-session-id'];
    const cut = new AbortController();
    const signal = AbortSignal.any([context.signal, cut.signal]);
    const { kernel, actor, by } = context;
    const caller = { kernel, actor, by, signal, frames: undefined };
    const bench = new Workbench(this.#sandboxes, caller, setup, typeof session === 'string' ? session : undefined);
    await bench.check();
    const created = Math.floor(context.clock.now() / 1000);
    const tellsUsage = objectOf(body['stream_options'])['include_usage'] === true;
    const listener =
      body.stream === true
        ? new StreamedAnswer(context, protocol, { created, tellsUsage })
        : new WholeAnswer(context, protocol, created);
    const forget = kernel.streams.watch(actor, () => cut.abort());
    const stop = body.stream === true ? keepAlive(context, protocol) : () => {};
    context.accountItself();
    try {
      const conversation = new Conversation({
        kernel,
        protocol,
        body: rest,
        bodyBytes: context.bodyBytes.length,
        tools: setup.tools,
        definitions: toolsFor(setup),
        bench,
        listener,
        limits: kernel.config.agent,
        signal,
        handsOut: true,
      });
      await this.#inference.inTurns(context, rest, choices, (ask, bill) => conversation.run(ask, bill));
      if (!cut.signal.aborted || context.signal.aborted) return;
      // The client is still there, and its answer may be open.
      const message = 'the key may not be used any more';
      if (await listener.fail(message)) return;
      throw new ApiError('invalid_api_key', message, { headers: { 'x-should-retry': 'false' } });
    } finally {
      stop();
      forget();
    }
  }

  /** Does a task of an account by itself. Never throws for what the task can cause. */
  runTask(task: Task, signal: AbortSignal): Promise<TaskResult> {
    const parts = { kernel: this.#kernel, inference: this.#inference, sandboxes: this.#sandboxes };
    return runTask({ ...parts, recordings: this.#recordings }, task, signal);
  }
}

/** The feature without a running platform. */
export const agentManifest: Manifest = {
  name: 'agent',
  data: {
    tables: ['agent.sessions'],
  },
};
