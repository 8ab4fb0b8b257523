import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { endSpansOf, insertSpan } from '../metering/index.ts';
import { checkPausedCap, span } from './sandboxes.create.ts';
import { busy, type Nodes, notRunning, toApiFailure } from './sandboxes.nodes.ts';
import { findSandbox, insertAudit, isBusy, lockAccount, moveSandbox } from './sandboxes.sql.ts';
import { toRecord } from './sandboxes.view.ts';

export const pause = (nodes: Nodes) =>
  operation(contract.sandboxes.pause, async (context, { params: { id } }) => {
    const { actor, db, clock } = context;
    const { accountId, keyId } = actor;
    const moved = await context.transaction(async (tx) => {
      await lockAccount(tx, accountId);
      const row = await findSandbox(tx, accountId, id);
      if (!row) throw notFound('sandbox');
      if (row.backend === 'v1') throw new ApiError('not_supported_on_v1', 'v1 keeps no memory; pause needs v2');
      if (row.state !== 'running') throw notRunning();
      if (await isBusy(tx, clock, id)) throw busy();
      await checkPausedCap(tx, actor);
      return moveSandbox(tx, clock, id, ['running'], 'pausing');
    });
    if (!moved) throw notRunning();
    try {
      const paused = await nodes.of(moved.node_id).pause(id);
      return await context.transaction(async (tx) => {
        const change = { freeze: true, snapshotBytes: paused.snapshot_bytes };
        const row = await moveSandbox(tx, clock, id, ['pausing', 'running'], 'paused', change);
        if (row) {
          await endSpansOf(tx, clock, id, ['running']);
          await insertSpan(tx, clock, { ...span(accountId, id), kind: 'paused', bytes: paused.snapshot_bytes });
        }
        // The keeper may have been first; or it was destroyed meanwhile.
        const kept = row ?? (await findSandbox(tx, accountId, id));
        if (kept?.state !== 'paused') throw notFound('sandbox');
        await insertAudit(tx, { accountId, keyId, sandboxId: id, action: 'pause', detail: paused });
        return toRecord(kept);
      });
    } catch (error) {
      // What the node made of it is found out by the keeper.
      await moveSandbox(db, clock, id, ['pausing'], 'running');
      throw toApiFailure(error);
    }
  });
