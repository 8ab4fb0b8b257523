import { contract } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { lockEventSchedules } from '../schedules/index.ts';
import { admit, type SchedulerParts } from './scheduler.admit.ts';

/** Runs every enabled schedule with this event trigger. */
export const fire = (parts: SchedulerParts): Operation =>
  operation(contract.scheduler.fire, async (context, { params }) => {
    const { accountId } = context.actor;
    const queued = await context.transaction((db) => fireTrigger(parts, db, accountId, params.trigger_id));
    return { queued };
  });

/** Creates the runs of an event in the caller's transaction; answers how many will run. */
export async function fireTrigger(
  parts: SchedulerParts,
  db: Db,
  accountId: string,
  triggerId: string,
): Promise<number> {
  const now = await readNow(db, parts.kernel.clock);
  const schedules = await lockEventSchedules(db, accountId, triggerId, now);
  const scheduledFor = now.iso;
  const candidates = schedules.map((schedule) => ({ schedule, scheduledFor, origin: 'event' as const }));
  if (candidates.length === 0) return 0;
  return (await admit(parts, db, candidates, now)).filter((run) => run.state !== 'skipped').length;
}
