import { contract, type RouteParsed } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkRoom, collect } from '../artifacts/index.ts';
import { checkDaily } from '../metering/index.ts';
import { type Caller, runCommand } from './nodes/commands.ts';
import { createSandbox } from './sandboxes.create.ts';
import { moveSandbox } from './sandboxes.moves.ts';
import { toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { outputsOf } from './sandboxes.running.ts';

/** Lifetime of a one-shot beyond its command: 50 inputs of a minute before it, artifacts are collected after it. */
const aroundSeconds = 3600;

export const run = (nodes: Nodes) =>
  operation(contract.sandboxes.run, (context, { body }) => runOnce(context, nodes, body));

/** Creates a sandbox, runs a command, collects what it left under /workspace/out, and destroys the sandbox. */
export async function runOnce(
  caller: Caller,
  nodes: Nodes,
  { backend, template, egress, metadata, ...command }: RouteParsed<typeof contract.sandboxes.run>['body'],
) {
  const { kernel, actor, by } = caller;
  const ttlSeconds = command.timeout_seconds + aroundSeconds;
  // Asked for before anything is made: a caller that leaves meanwhile is noticed.
  const { signal } = caller;
  const wanted = { backend, template, egress, metadata, ttlSeconds };
  // Checks the limits of the last steps first, so that a command's work is not thrown away.
  await Promise.all([checkDaily(kernel, actor.accountId), checkRoom(kernel, actor.accountId)]);
  const { id, node_id } = await createSandbox(caller, nodes, wanted);
  try {
    signal.throwIfAborted();
    const { result } = await runCommand(caller, nodes, id, command);
    const { accountId } = actor;
    const { source, paths } = await outputsOf(kernel, await nodes.reach(node_id), { accountId, id, by });
    return { ...result, artifacts: await collect(kernel, source, paths) };
  } catch (error) {
    throw toApiFailure(error);
  } finally {
    await moveSandbox(kernel, id, 'discard', { by });
    // In the background: the keeper removes what this does not.
    Promise.resolve()
      .then(() => nodes.of(node_id).destroy(id))
      .catch((err: unknown) => kernel.log.warn({ err }, 'a one-shot sandbox is removed later'));
  }
}
