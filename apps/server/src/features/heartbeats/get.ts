import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findMonitor } from './heartbeats.sql.ts';
import { toRecord } from './heartbeats.view.ts';

export const get = operation(contract.heartbeats.get, async ({ db, clock, actor }, { params }) => {
  const row = await findMonitor(db, clock, actor.accountId, params.id);
  if (!row) throw notFound('heartbeat');
  return toRecord(row);
});
