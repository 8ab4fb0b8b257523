import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { findSchedule } from './schedules.sql.ts';
import { viewSchedule } from './schedules.view.ts';

export const get = operation(contract.schedules.get, async (context, { params }) => {
  const row = await findSchedule(context.db, context.actor.accountId, params.id);
  if (!row) throw notFound('schedule');
  return viewSchedule(context.db, row, (await readNow(context.db, context.clock)).ms);
});
