import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { notConfirmable } from './decide.ts';
import { viewRun } from './runs.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { moveRun } from './outcomes/settle.ts';
import { findRun } from './scheduler.sql.ts';
import { move } from './scheduler.moves.ts';

/** Cancels a run that is not over. */
export const cancel = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.cancel, async (context, { params }) => {
    const known = await findRun(context.db, params.id, context.actor.accountId);
    if (!known) throw notFound('run');
    const moved = await context.transaction((db) =>
      moveRun(parts, db, known, move('cancel', { reason: 'cancelled by a person' })),
    );
    if (!moved) throw notConfirmable((await findRun(context.db, known.id)) ?? known);
    return { run: viewRun(moved) };
  });
