import { contract } from '@svc/contract';
import { notFound } from '../../kernel/http/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { viewPause } from './list.ts';
import { findPause } from './schedules.account.sql.ts';
import type { Scheduler } from './schedules.scheduler.ts';
import { lockSchedule } from './schedules.sql.ts';

/** Runs a schedule now, also a disabled one; not while the account is paused. */
export const run = (scheduler: Scheduler): Operation =>
  operation(contract.schedules.run, async (context, { params }) => {
    const { accountId } = context.actor;
    const created = await context.transaction(async (db) => {
      const schedule = await lockSchedule(db, params.id);
      if (schedule?.account_id !== accountId) throw notFound('schedule');
      const { ms: now } = await readNow(db, context.clock);
      if (viewPause(await findPause(db, accountId), now).paused) return undefined;
      return scheduler.runNow(db, schedule, now);
    });
    return created ? { queued: true, run_id: created.id } : { queued: false };
  });
