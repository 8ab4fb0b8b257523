import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { hasScope } from '../../kernel/http/access.ts';
import { pageOf } from '../../kernel/db/paging.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { serveAs } from '../devices/index.ts';
import { findPause, type PauseRow } from './schedules.account.sql.ts';
import { mayRun } from './schedules.rules.ts';
import { listSchedules } from './schedules.sql.ts';
import { viewSchedules } from './schedules.view.ts';

export const list = operation(contract.schedules.list, async (context, { query }) => {
  const { actor, deviceId } = context;
  const { accountId } = actor;
  const readsAll = hasScope(actor.scopes, ['schedules', 'schedules:read']);
  if (!readsAll && deviceId !== undefined) await serveAs(context.db, { actor, deviceId });
  const { ms: now } = await readNow(context.db, context.clock);
  const found = await listSchedules(context.db, accountId, query);
  const { rows, next } = pageOf(found, query.limit, (found[0]?.found ?? 0) > Math.min(found.length, query.limit));
  const own = rows.filter((row) => readsAll || mayRun(row, deviceId));
  const schedules = await viewSchedules(context.db, own, now);
  return { schedules, pause: viewPause(await findPause(context.db, accountId), now), ...next };
});

/** A pause as it is answered; one that has run out is none. */
export function viewPause(pause: PauseRow | undefined, now: number) {
  if (!pause || (pause.until !== null && Date.parse(pause.until) <= now)) return { paused: false };
  const { until, resume_policy } = pause;
  return { paused: true, resume_policy, ...(until !== null && { until }) };
}
