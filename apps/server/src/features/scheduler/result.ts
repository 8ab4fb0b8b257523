import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { leaseHeld } from './heartbeat.ts';
import { viewRun } from './runs.ts';
import { serveAs } from '../devices/index.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { tellMustApprove } from './outcomes/alerts.ts';
import { endedProcess, moveRun } from './outcomes/settle.ts';
import { findRun } from './scheduler.sql.ts';
import { hasAnswered } from './scheduler.effects.ts';
import { move } from './scheduler.moves.ts';

/**
 * Takes the result of the attempt that holds the run; repeating one that was taken answers alike. Of an attempt that was
 * cancelled it says that its process is gone.
 */
export const result = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.result, async (context, { params, body }) => {
    const { actor, deviceId } = context;
    if (deviceId !== undefined) await serveAs(context.db, { actor, deviceId });
    const known = await findRun(context.db, params.id, context.actor.accountId);
    if (!known) throw notFound('run');
    const by = { pool: 'host', attempt: body.attempt, holderId: context.deviceId } as const;
    const moved = await context.transaction(async (db) => {
      if (body.not_started !== undefined) {
        const refused = await moveRun(parts, db, known, move('refuse', { by }));
        if (refused) await tellMustApprove(parts.kernel, db, refused);
        return refused;
      }
      const taken = {
        by,
        ok: body.ok,
        exitCode: body.exit_code,
        endedProcesses: body.ended_processes,
        error: body.error,
        logTail: body.log_tail,
        costMicroUsd: body.cost_micro_usd,
        sessionId: body.session_id,
      };
      return moveRun(parts, db, known, move('report', taken), body.output_hash);
    });
    if (moved) return { run: viewRun(moved) };
    const ended = { id: known.id, attempt: body.attempt, holderId: context.deviceId };
    const gone = await endedProcess(parts, {
      ...ended,
      logTail: body.log_tail,
      costMicroUsd: body.cost_micro_usd,
      endedProcesses: body.ended_processes,
    });
    if (gone) return { run: viewRun(gone) };
    const current = (await findRun(context.db, known.id)) ?? known;
    if (!hasAnswered(current, by)) throw leaseHeld(current);
    return { run: viewRun(current) };
  });
