import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { checkPaid } from '../metering/index.ts';
import { checkCaps } from './caps/caps.ts';
import { finishIn, moveIn, moveSandbox } from './sandboxes.moves.ts';
import { toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { findSandbox, lockAccount } from './sandboxes.sql.ts';
import { show } from './shown/show.ts';

/** Lifetime goes on from here: what was left when it was paused. */
export const resume = (nodes: Nodes) =>
  operation(contract.sandboxes.resume, async (context, { params: { id } }) => {
    const { kernel, actor, by, db, clock } = context;
    const { accountId } = actor;
    const found = await findSandbox(db, accountId, id);
    if (!found) throw notFound('sandbox');
    if (found.backend === 'v1') throw new ApiError('not_supported_on_v1', 'v1 is never paused; resume needs v2');
    await checkPaid(kernel, accountId);
    const moved = await context.transaction(async (tx) => {
      await lockAccount(tx, accountId);
      const row = await findSandbox(tx, accountId, id);
      if (row?.state !== 'paused') throw new ApiError('sandbox_not_running', 'this sandbox is not paused');
      // It counts for the key that made it, not for the key that resumes it.
      const { key_id: keyId, memory_mb: memoryMb } = row;
      await checkCaps(kernel.config, tx, { accountId, keyId }, { backend: 'v2', memoryMb });
      return moveIn(tx, kernel, id, 'resume', { by });
    });
    if (!moved) throw new ApiError('sandbox_not_running', 'this sandbox is not paused');
    /** The row's instant is the database's: the node keeps to it, or to this gateway's, some milliseconds beside. */
    const keepExpiry = async ({ expires_at }: { expires_at: string }): Promise<void> => {
      try {
        await (await nodes.reach(moved.node_id)).change(id, { expires_at: Date.parse(expires_at) });
      } catch (err) {
        kernel.log.warn({ err, sandbox: id }, 'a node keeps to its own time for the end of a sandbox');
      }
    };
    try {
      const expiresAt = clock.now() + (moved.ttl_left_ms ?? 0);
      const { restored, ready_ms } = await (await nodes.reach(moved.node_id)).resume(id, expiresAt);
      const given = { by, detail: () => ({ restored }) };
      const row = await context.transaction((tx) => finishIn(tx, kernel, { accountId, id }, 'resumed', given));
      await keepExpiry(row);
      return { ...(await show(kernel, row)), restored, ready_ms };
    } catch (error) {
      const failure = toApiFailure(error);
      await moveSandbox(kernel, id, 'keepPaused', { by, failure });
      throw failure;
    }
  });
