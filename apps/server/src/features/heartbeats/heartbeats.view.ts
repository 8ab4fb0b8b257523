import type { heartbeat } from '@svc/contract';
import type { z } from 'zod';
import { shownStatus } from './heartbeats.rules.ts';
import { type MonitorRow, stateOf } from './heartbeats.sql.ts';

/** A monitor as the API shows it: what is not set is left out. */
export function toRecord(row: MonitorRow, state = stateOf(row)): z.input<typeof heartbeat> {
  const instant = (ms: number | null) => (ms === null ? undefined : new Date(ms).toISOString());
  const [lastPingAt, lastStartAt] = [instant(state.lastPingAt), instant(state.lastStartAt)];
  return {
    id: row.id,
    name: row.name,
    ...(row.slug !== null && { slug: row.slug }),
    period_s: state.periodS,
    cron: state.cron,
    grace_s: state.graceS,
    ...(state.tz !== null && { tz: state.tz }),
    status: shownStatus(state, Date.parse(row.now)),
    ...(lastPingAt !== undefined && { last_ping_at: lastPingAt }),
    ...(lastStartAt !== undefined && { last_start_at: lastStartAt }),
    ...(state.lastExitCode !== null && { last_exit_code: state.lastExitCode }),
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
