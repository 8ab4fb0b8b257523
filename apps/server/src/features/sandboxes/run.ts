import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { collect } from '../artifacts/index.ts';
import { runCommand } from './sandboxes.command.ts';
import { createSandbox, endSandbox } from './sandboxes.create.ts';
import { type Nodes, toApiFailure } from './sandboxes.nodes.ts';
import { outputsOf } from './sandboxes.running.ts';

/** What a one-shot lives longer than its command: inputs are fetched before it, artifacts are collected after it. */
const aroundSeconds = 900;

export const run = (nodes: Nodes) =>
  operation(contract.sandboxes.run, async (context, { body }) => {
    const { kernel, actor } = context;
    const { backend, template, egress, metadata, ...command } = body;
    const ttlSeconds = command.timeout_seconds + aroundSeconds;
    const { id, node_id } = await createSandbox(kernel, nodes, actor, {
      backend,
      template,
      egress,
      metadata,
      ttlSeconds,
    });
    try {
      const { result } = await runCommand(context, nodes, id, command);
      const { source, paths } = await outputsOf(kernel, nodes.of(node_id), { accountId: actor.accountId, id });
      return { ...result, artifacts: await collect(kernel, source, paths) };
    } catch (error) {
      throw toApiFailure(error);
    } finally {
      await endSandbox(kernel, id, ['running'], 'destroyed', actor.keyId);
      // In the background: the keeper removes what this does not.
      Promise.resolve()
        .then(() => nodes.of(node_id).destroy(id))
        .catch((err: unknown) => kernel.log.warn({ err }, 'a one-shot sandbox is removed later'));
    }
  });
