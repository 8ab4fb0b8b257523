import { contract, type RouteOutput } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { viewPause } from './list.ts';
import { findPause } from './schedules.account.sql.ts';
import type { Parts } from './create.ts';
import { workOf } from './schedules.rules.ts';
import { lockSchedule } from './schedules.sql.ts';

/** The answer: whether a run was made, and which. */
type Queued = RouteOutput<typeof contract.schedules.run>;

/**
 * Runs a schedule of the caller's account now, also a disabled one; not while the account is paused. The run acts for the
 * caller's key, which needs the rights for it (403). Throws 404 when there is no such schedule.
 */
export async function runByHand(
  { scheduler, rights }: Pick<Parts, 'scheduler' | 'rights'>,
  context: Context,
  scheduleId: string,
): Promise<Queued> {
  const { accountId, keyId } = context.actor;
  const created = await context.transaction(async (db) => {
    const schedule = await lockSchedule(db, scheduleId);
    if (schedule?.account_id !== accountId) throw notFound('schedule');
    rights.check(context.actor, workOf(schedule));
    const now = await readNow(db, context.clock);
    if (viewPause(await findPause(db, accountId), now).paused) return undefined;
    return scheduler.runNow(db, schedule, now, keyId);
  });
  return created ? { queued: true, run_id: created.id } : { queued: false };
}

/** Runs a schedule now. */
export const run = (parts: Parts): Operation =>
  operation(contract.schedules.run, (context, { params }) => runByHand(parts, context, params.id));
