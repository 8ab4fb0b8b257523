import type { Readable } from 'node:stream';
import { contract, type RouteOutput } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { badRequest } from '../../kernel/base/errors.ts';
import { toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { type Mover, runningSandbox } from './sandboxes.running.ts';
import { nextGeneration } from './sandboxes.sql.ts';

/** Writes a file of the workspace, whole or not at all; one that is there stays the same file for who has it open. */
export const writeFile = (nodes: Nodes) =>
  operation(contract.sandboxes.writeFile, async (context, { params }) =>
    writeBytes(context, nodes, params, context.upload),
  );

/** The same of bytes that came another way. */
export async function writeBytes(
  context: Mover,
  nodes: Nodes,
  { id, path }: { id: string; path: string },
  body: Readable,
): Promise<Written> {
  if (path === '') throw badRequest('path: is required', { path: ['is required'] });
  const { node, audit } = await runningSandbox(context, nodes, id);
  try {
    await audit('write_file', { path });
    const written = await node.writeFile(id, path, body);
    const { by, actor } = context;
    const told = { accountId: actor.accountId, by, sandboxId: id, action: 'write_file_end', detail: written };
    return { ...written, generation: await nextGeneration(context.kernel.sql, told) };
  } catch (error) {
    throw toApiFailure(error, 'file');
  }
}

type Written = RouteOutput<typeof contract.sandboxes.writeFile>;
