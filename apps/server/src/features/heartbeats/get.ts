import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findMonitor, stateOf } from './heartbeats.sql.ts';
import { toRecord } from './heartbeats.view.ts';
import { daysOf } from './history/days.ts';

export const get = operation(contract.heartbeats.get, async ({ db, clock, actor }, { params, query }) => {
  const row = await findMonitor(db, clock, actor.accountId, params.id);
  if (!row) throw notFound('heartbeat');
  const days = query.days === undefined ? undefined : (await daysOf(db, [row], query.days)).get(row.id);
  return toRecord(row, stateOf(row), days);
});
