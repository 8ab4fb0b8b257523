import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { hiddenSpec } from '../schedules/index.ts';
import { attemptsOf } from './attempts/attempts.ts';
import { viewRuns } from './runs.ts';
import { findRun } from './scheduler.sql.ts';
import { runStates } from './scheduler.states.ts';
import { findSpec } from './work/specs.sql.ts';

export const getRun = operation(contract.scheduler.getRun, async ({ kernel, actor }, { params }) => {
  const row = await findRun(kernel.sql, params.id, actor.accountId);
  if (!row) throw notFound('run');
  const { name, kind, timeout_s, command_hash } = row;
  const [[view], attempts, spec] = await Promise.all([
    viewRuns(kernel, actor.accountId, [row]),
    attemptsOf(kernel.sql, row),
    runStates.isFinal(row.state) ? undefined : findSpec(kernel.sql, row),
  ]);
  return {
    ...(view as NonNullable<typeof view>),
    name,
    kind,
    ...(spec && { spec: hiddenSpec({ kind, spec }) }),
    ...(command_hash !== null && { command_hash }),
    timeout_s,
    attempts,
  };
});
