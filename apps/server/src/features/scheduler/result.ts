import { contract } from '@svc/contract';
import { notFound } from '../../kernel/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { readNow } from '../schedules/index.ts';
import { leaseHeld } from './heartbeat.ts';
import { viewRun } from './runs.ts';
import type { Parts } from './scheduler.admit.ts';
import { onResult } from './scheduler.rules.ts';
import { moveRun } from './scheduler.settle.ts';
import { findRun, type RunRow } from './scheduler.sql.ts';

/** Takes the result of the attempt that holds the run; repeating one that was taken answers alike. */
export const result = (parts: Parts): Operation =>
  operation(contract.scheduler.result, async (context, { params, body }) => {
    const known = await findRun(context.db, params.id, context.actor.accountId);
    if (!known) throw notFound('run');
    const { deviceId } = context;
    const isFrom = (holder: string | null): boolean => holder !== null && (deviceId ?? holder) === holder;
    const moved = await context.transaction(async (db) => {
      const now = await readNow(db, context.clock);
      const holds = (run: RunRow): boolean =>
        run.state === 'running' && run.pool === 'host' && run.attempt === body.attempt && isFrom(run.holder_id);
      const taken = {
        ok: body.ok,
        exitCode: body.exit_code,
        error: body.error,
        logTail: body.log_tail,
        costMicroUsd: body.cost_micro_usd,
        sessionId: body.session_id,
      };
      const decide = (run: RunRow) => (holds(run) ? onResult(run, taken, now) : undefined);
      return moveRun(parts, db, known, now, decide, body.output_hash);
    });
    if (moved) return { run: viewRun(moved) };
    const current = (await findRun(context.db, known.id)) ?? known;
    const isRepeat = current.answers.some((answer) => {
      const [attempt, holder = ''] = answer.split(':');
      return Number(attempt) === body.attempt && isFrom(holder);
    });
    if (!isRepeat) throw leaseHeld(current);
    return { run: viewRun(current) };
  });
