import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { findPause, type PauseRow } from './schedules.account.sql.ts';
import { listSchedules } from './schedules.sql.ts';
import { viewSchedules } from './schedules.view.ts';

export const list = operation(contract.schedules.list, async (context) => {
  const { accountId } = context.actor;
  const { ms: now } = await readNow(context.db, context.clock);
  const rows = await listSchedules(context.db, accountId);
  const schedules = await viewSchedules(context.db, rows, now);
  return { schedules, pause: viewPause(await findPause(context.db, accountId), now) };
});

/** A pause as it is answered; one that has run out is none. */
export function viewPause(pause: PauseRow | undefined, now: number) {
  if (!pause || (pause.until !== null && Date.parse(pause.until) <= now)) return { paused: false };
  const { until, resume_policy } = pause;
  return { paused: true, resume_policy, ...(until !== null && { until }) };
}
