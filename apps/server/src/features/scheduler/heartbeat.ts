import { contract } from '@svc/contract';
import { inTransaction } from '../../kernel/db/db.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { plus, readNow } from '../../kernel/db/instant.ts';
import { serveAs } from '../devices/index.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { touchHost } from './claims/hosts.sql.ts';
import { renewLease } from './claims/claims.sql.ts';
import { moveRun } from './outcomes/settle.ts';
import { findRun, type RunRow } from './scheduler.sql.ts';
import { hasAttempt, leaseMs } from './scheduler.effects.ts';
import { move } from './scheduler.moves.ts';

/** Refuses what a stale attempt, or another device, says of a run. */
export function leaseHeld(run: RunRow): ApiError {
  const message =
    run.state === 'running'
      ? `attempt ${run.attempt} of this run is held by another claim; stop the process`
      : `the run is ${run.state}; stop the process`;
  return new ApiError('lease_held', message, { details: { attempt: run.attempt, state: run.state } });
}

/** Keeps the lease; answers `cancel` once the run was cancelled, or is over its budget. */
export const heartbeat = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.heartbeat, async (context, { params, body }) => {
    const { accountId } = context.actor;
    const { actor, deviceId } = context;
    if (deviceId !== undefined) await serveAs(context.db, { actor, deviceId });
    const run = await findRun(context.db, params.id, accountId);
    if (!run) throw notFound('run');
    const holderId = run.holder_id;
    const by = { pool: 'host', attempt: body.attempt, holderId: context.deviceId } as const;
    if (holderId === null || !hasAttempt(run, by)) throw leaseHeld(run);
    const now = await readNow(context.db, context.clock);
    const leaseUntil = plus(now, leaseMs).iso;
    const over = { lease_expires_at: now.iso, cancel: true };
    if (run.state === 'cancelled') return over;
    const kept = await renewLease(
      context.db,
      { id: run.id, attempt: body.attempt, holderId },
      { now: now.iso, leaseUntil, logTail: body.log_tail, costMicroUsd: body.cost_micro_usd },
    );
    if (!kept) {
      const current = (await findRun(context.db, run.id)) ?? run;
      // It was cancelled at this instant.
      if (current.state === 'cancelled' && current.attempt === body.attempt) return over;
      throw leaseHeld(current);
    }
    await touchHost(context.db, accountId, holderId, now.iso);
    const overBudget = (held: RunRow): boolean =>
      held.budget_micro_usd !== null && held.cost_micro_usd > held.budget_micro_usd;
    if (!overBudget(kept)) return { lease_expires_at: leaseUntil, cancel: false };
    await inTransaction(context.db, (db) => moveRun(parts, db, run, move('stopOverBudget', { by })));
    return over;
  });
