import { contract, type run } from '@svc/contract';
import type { z } from 'zod';
import { operation } from '../../kernel/feature.ts';
import { listRuns, type RunRow } from './scheduler.sql.ts';

export const runs = operation(contract.scheduler.runs, async (context, { query }) => ({
  runs: (await listRuns(context.db, context.actor.accountId, query)).map(viewRun),
}));

/** A run as it is answered. A gateway that runs it is no device. */
export function viewRun(row: RunRow): z.input<typeof run> {
  const { id, schedule_id, scheduled_for, state, attempt, cost_micro_usd, created_at } = row;
  return {
    id,
    schedule_id,
    scheduled_for,
    state,
    attempt,
    cost_micro_usd,
    created_at,
    ...(row.pool === 'host' && lastHolder(row)),
    ...(row.started_at !== null && { started_at: row.started_at }),
    ...(row.finished_at !== null && { finished_at: row.finished_at }),
    ...(row.exit_code !== null && { exit_code: row.exit_code }),
    ...(row.log_tail !== null && { log_tail: row.log_tail }),
    ...(row.session_id !== null && { session_id: row.session_id }),
    ...(row.error !== null && { error: row.error }),
  };
}

function lastHolder(row: RunRow): { device_id?: string } {
  const id = row.holder_id ?? row.answers.at(-1)?.split(':')[1];
  return id === undefined ? {} : { device_id: id };
}
