import { contract } from '@svc/contract';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { type Rights, runByHand } from '../schedules/index.ts';
import { notConfirmable } from './decide.ts';
import type { Scheduler } from './index.ts';
import { findRun } from './scheduler.sql.ts';
import { runStates } from './scheduler.states.ts';

/** Runs the schedule of a run that is over again, as it says now. */
export const rerun = (scheduler: Scheduler, rights: Rights): Operation =>
  operation(contract.scheduler.rerun, async (context, { params }) => {
    const run = await findRun(context.db, params.id, context.actor.accountId);
    if (!run) throw notFound('run');
    if (!runStates.isFinal(run.state)) throw notConfirmable(run);
    try {
      return await runByHand({ scheduler, rights }, context, run.schedule_id);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
      throw new ApiError('not_found', 'the schedule of this run was deleted: create it anew to run it');
    }
  });
