import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { viewPause } from './list.ts';
import { findPause } from './schedules.account.sql.ts';
import type { Parts } from './create.ts';
import { workOf } from './schedules.rules.ts';
import { lockSchedule } from './schedules.sql.ts';

/**
 * Runs a schedule now, also a disabled one; not while the account is paused. The run acts for the caller's key, which needs
 * the rights for it.
 */
export const run = ({ scheduler, rights }: Parts): Operation =>
  operation(contract.schedules.run, async (context, { params }) => {
    const { accountId, keyId } = context.actor;
    const created = await context.transaction(async (db) => {
      const schedule = await lockSchedule(db, params.id);
      if (schedule?.account_id !== accountId) throw notFound('schedule');
      rights.check(context.actor, workOf(schedule));
      const now = await readNow(db, context.clock);
      if (viewPause(await findPause(db, accountId), now).paused) return undefined;
      return scheduler.runNow(db, schedule, now, keyId);
    });
    return created ? { queued: true, run_id: created.id } : { queued: false };
  });
