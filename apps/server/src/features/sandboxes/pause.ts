import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { checkPausedCap } from './caps/caps.ts';
import { finishIn, moveIn, moveSandbox } from './sandboxes.moves.ts';
import { busy, notRunning, toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { findSandbox, isBusy, lockAccount } from './sandboxes.sql.ts';
import { show } from './shown/show.ts';

export const pause = (nodes: Nodes) =>
  operation(contract.sandboxes.pause, async (context, { params: { id }, body }) => {
    const { kernel, actor, by, clock } = context;
    const { accountId } = actor;
    const moved = await context.transaction(async (tx) => {
      await lockAccount(tx, accountId);
      const row = await findSandbox(tx, accountId, id);
      if (!row) throw notFound('sandbox');
      if (row.backend === 'v1') throw new ApiError('not_supported_on_v1', 'v1 keeps no memory; pause needs v2');
      if (row.state !== 'running') throw notRunning();
      if (await isBusy(tx, clock, id)) throw busy();
      await checkPausedCap(kernel.config, tx, actor);
      const pausing = await moveIn(tx, kernel, id, 'pause', { by });
      if (pausing) return pausing;
      // A command has taken it, or it ended, since it was read.
      throw (await isBusy(tx, clock, id)) ? busy() : notRunning();
    });
    try {
      const node = await nodes.reach(moved.node_id);
      const paused = await node.pause(id, body.files_only);
      const given = { by, snapshotBytes: paused.snapshot_bytes, detail: () => paused };
      const row = await context.transaction((tx) => finishIn(tx, kernel, { accountId, id }, 'paused', given));
      return await show(kernel, row);
    } catch (error) {
      const failure = toApiFailure(error);
      // The keeper finds out how far the node got.
      await moveSandbox(kernel, id, 'keepRunning', { by, failure });
      throw failure;
    }
  });
