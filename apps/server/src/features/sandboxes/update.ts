import { contract } from '@svc/contract';
import type { NodeClient } from '@svc/sandboxd-api';
import { operation } from '../../kernel/feature.ts';
import { badRequest, notFound } from '../../kernel/base/errors.ts';
import { checkTtl, defaultTtlSeconds, ttl } from './sandboxes.create.ts';
import { moveIn } from './sandboxes.moves.ts';
import { notRunning, toApiFailure } from './nodes/failures.ts';
import type { Nodes } from './nodes/nodes.ts';
import { findSandbox, type SandboxRow } from './sandboxes.sql.ts';
import { sandboxChange, statusOf } from './sandboxes.view.ts';
import { show } from './shown/show.ts';
import { relabelSandbox } from './sandboxes.update.sql.ts';

/**
 * Changes how long a sandbox lives from now, its labels, and where code inside may connect to from now on. A paused one is
 * changed as well: its lifetime goes on with the resume.
 */
export const update = (nodes: Nodes) =>
  operation(contract.sandboxes.update, async (context, { params: { id }, body }) => {
    const { actor, by, clock, db } = context;
    const row = await findSandbox(db, actor.accountId, id);
    if (!row) throw notFound('sandbox');
    if (Object.keys(body).length === 0) throw badRequest('send ttl_seconds, metadata or egress');
    const isPaused = statusOf(row) === 'paused';
    if (!isPaused && row.state !== 'running') throw notRunning();
    const egress = body.egress === null ? ({ mode: 'none' } as const) : body.egress;
    const ttlSeconds = body.ttl_seconds === null ? defaultTtlSeconds : body.ttl_seconds;
    if (ttlSeconds !== undefined) checkTtl(ttlSeconds, ttl[row.backend]);
    const changed = await context.transaction(async (tx) => {
      const given = { by, ...(ttlSeconds !== undefined && { ttlSeconds }), detail: () => body };
      if (!(await moveIn(tx, context.kernel, id, isPaused ? 'changePaused' : 'change', given))) return undefined;
      const metadata = body.metadata === null ? {} : body.metadata;
      const moved = await relabelSandbox(tx, id, { metadata, egress });
      const expiresAt = ttlSeconds === undefined || isPaused ? undefined : Date.parse(moved.expires_at);
      const told = { ...(egress && { egress }), ...(expiresAt !== undefined && { expires_at: expiresAt }) };
      // Before the row is stored: one that says less than the node allows would hide an open way out.
      if (Object.keys(told).length > 0) await tell(nodes, moved, told);
      await context.kernel.feed.record(tx, [sandboxChange('updated', moved, clock.now())]);
      return moved;
    });
    // It was paused, resumed or ended since it was read.
    if (!changed) throw notRunning();
    return show(context.kernel, changed);
  });

async function tell(nodes: Nodes, row: SandboxRow, change: Parameters<NodeClient['change']>[1]): Promise<void> {
  try {
    await (await nodes.reach(row.node_id)).change(row.id, change);
  } catch (error) {
    throw toApiFailure(error);
  }
}
