import type { heartbeat } from '@svc/contract';
import type { z } from 'zod';
import { expectedOf, shownStatus } from './heartbeats.rules.ts';
import { type MonitorRow, stateOf } from './heartbeats.sql.ts';

/** A monitor as the API shows it: what is not set is left out. */
export function toRecord(row: MonitorRow, state = stateOf(row), days?: string): z.input<typeof heartbeat> {
  const instant = (ms: number | null) => (ms === null ? undefined : new Date(ms).toISOString());
  const [lastPingAt, lastStartAt] = [instant(state.lastPingAt), instant(state.lastStartAt)];
  const isExpected = state.status === 'new' || state.status === 'up';
  const expectedAt = instant(isExpected ? expectedOf(state) : null);
  const downSince = instant(state.status === 'down' ? state.downSince : null);
  const pausedUntil = instant(state.status === 'paused' ? state.pausedUntil : null);
  const muted = row.muted_until !== null && Date.parse(row.muted_until) > Date.parse(row.now);
  return {
    id: row.id,
    name: row.name,
    ...(row.slug !== null && { slug: row.slug }),
    period_s: state.periodS,
    cron: state.cron,
    grace_s: state.graceS,
    ...(state.tz !== null && { tz: state.tz }),
    status: shownStatus(state, Date.parse(row.now)),
    tags: row.tags,
    ...(expectedAt !== undefined && { expected_at: expectedAt }),
    ...(downSince !== undefined && { down_since: downSince }),
    ...(pausedUntil !== undefined && { paused_until: pausedUntil }),
    ...(muted && row.muted_until !== null && { muted_until: row.muted_until }),
    ...(days !== undefined && { days }),
    ...(lastPingAt !== undefined && { last_ping_at: lastPingAt }),
    ...(lastStartAt !== undefined && { last_start_at: lastStartAt }),
    ...(state.lastExitCode !== null && { last_exit_code: state.lastExitCode }),
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
