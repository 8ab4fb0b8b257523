import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { viewRuns } from './runs.ts';
import { findRun } from './scheduler.sql.ts';

export const getRun = operation(contract.scheduler.getRun, async ({ kernel, actor }, { params }) => {
  const row = await findRun(kernel.sql, params.id, actor.accountId);
  if (!row) throw notFound('run');
  const [view] = await viewRuns(kernel, actor.accountId, [row]);
  return view as NonNullable<typeof view>;
});
