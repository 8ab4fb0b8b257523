import { contract } from '@svc/contract';
import { BrokenSeal } from '../../kernel/base/crypto.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { operation } from '../../kernel/feature.ts';
import { hasScope } from '../../kernel/mount/access.ts';
import { pageOf } from '../../kernel/db/paging.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import { isServedBy, serveAs } from '../devices/index.ts';
import { findPause, type PauseRow } from './schedules.account.sql.ts';
import { openSpec } from './schedules.headers.ts';
import { mayRun } from './schedules.rules.ts';
import { listSchedules, projectsServedBy, type ScheduleRow } from './schedules.sql.ts';
import { viewSchedules } from './schedules.view.ts';

export const list = operation(contract.schedules.list, async (context, { query }) => {
  const { actor, deviceId } = context;
  const { accountId } = actor;
  const readsAll = hasScope(actor.scopes, ['schedules', 'schedules:read']);
  if (!readsAll && deviceId !== undefined) await serveAs(context.db, { actor, deviceId });
  const now = await readNow(context.db, context.clock);
  const found = await listSchedules(context.db, accountId, query);
  const { rows, next } = pageOf(found, query.limit, (found[0]?.found ?? 0) > Math.min(found.length, query.limit));
  const projects = readsAll ? new Set<string>() : await projectsServedBy(context.db, accountId, deviceId);
  const own = rows.filter((row) => readsAll || mayRun(row, { deviceId, projects }));
  const schedules = await viewSchedules(context.db, own, now.ms);
  const mirrored = own.filter((row) => row.kind === 'http' && isMirroredBy(row, deviceId));
  if (mirrored.length > 0 && deviceId !== undefined && hasScope(actor.scopes, ['scheduler:serve'])) {
    if (readsAll) await serveAs(context.db, { actor, deviceId });
    // A key that may do everything is let through as any device; values are for the one that serves as it.
    const serves = await isServedBy(context.db, { actor, deviceId });
    const specs = new Map(serves ? mirrored.flatMap((row) => openedOf(context.kernel, row)) : []);
    for (const schedule of schedules) schedule.spec = specs.get(schedule.id) ?? schedule.spec;
  }
  return { schedules, pause: viewPause(await findPause(context.db, accountId), now), ...next };
});

/** The spec of a schedule by its id; nothing where it cannot be opened: the others are mirrored all the same. */
function openedOf({ keyring, log }: Kernel, row: ScheduleRow): [string, Record<string, unknown>][] {
  try {
    return [[row.id, openSpec(keyring, row)]];
  } catch (err) {
    if (!(err instanceof BrokenSeal)) throw err;
    log.warn({ err, schedule: row.id }, 'headers of a schedule cannot be opened');
    return [];
  }
}

/** The machine runs it by itself while the gateway is out of reach: it needs all of it, as a claim gives it. */
const isMirroredBy = ({ native, target }: ScheduleRow, deviceId: string | undefined): boolean =>
  native === true && target?.type === 'host' && target.device_id === deviceId;

/** A pause as it is answered; one that has run out counts as no pause. */
export function viewPause(pause: PauseRow | undefined, now: Instant) {
  if (!pause || (pause.until !== null && Date.parse(pause.until) <= now.ms)) return { paused: false };
  const { until, resume_policy } = pause;
  return { paused: true, resume_policy, ...(until !== null && { until }) };
}
