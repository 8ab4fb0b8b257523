import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { plus, readNow } from '../../kernel/db/instant.ts';
import { effective, lockSchedule } from '../schedules/index.ts';
import { viewRun } from './runs.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { moveRun } from './outcomes/settle.ts';
import { findRun } from './scheduler.sql.ts';
import { move } from './scheduler.moves.ts';

/** Approves or skips a run that awaits a person. */
export const decide = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.decide, async (context, { params, body }) => {
    const known = await findRun(context.db, params.id, context.actor.accountId);
    if (!known) throw notFound('run');
    const moved = await context.transaction(async (db) => {
      const now = await readNow(db, context.clock);
      const schedule = await lockSchedule(db, known.schedule_id);
      // The time until somebody must have started it begins now.
      const lateAfter = schedule ? effective(schedule).late_after_s : 0;
      const lateAt = lateAfter === 0 ? null : plus(now, lateAfter * 1000).iso;
      const step = body.decision === 'approve' ? move('approve', { lateAt }) : move('skip');
      const decided = await moveRun(parts, db, known, step);
      const { accountId } = context.actor;
      const details = { decision: body.decision, schedule_id: known.schedule_id };
      const act = { action: 'scheduler.decide', subject: known.id, details };
      if (decided) await writeAct(db, { accountId, by: context.by, ...act });
      return decided;
    });
    if (!moved) throw notConfirmable((await findRun(context.db, known.id)) ?? known);
    return { run: viewRun(moved) };
  });

/** The run is not in a state that this can be decided in. */
export function notConfirmable(run: { state: string }): ApiError {
  return new ApiError('task_not_confirmable', `the run is ${run.state}`, { details: { state: run.state } });
}
