import type { heartbeat } from '@svc/contract';
import type { z } from 'zod';
import { shownStatus } from './heartbeats.rules.ts';
import { type MonitorRow, stateOf } from './heartbeats.sql.ts';

/** A monitor as the API shows it: what is not set is left out. */
export function toRecord(row: MonitorRow): z.input<typeof heartbeat> {
  return {
    id: row.id,
    name: row.name,
    ...(row.slug !== null && { slug: row.slug }),
    period_s: row.period_s,
    cron: row.cron,
    grace_s: row.grace_s,
    ...(row.tz !== null && { tz: row.tz }),
    status: shownStatus(stateOf(row), Date.parse(row.now)),
    ...(row.last_ping_at !== null && { last_ping_at: row.last_ping_at }),
    ...(row.last_start_at !== null && { last_start_at: row.last_start_at }),
    ...(row.last_exit_code !== null && { last_exit_code: row.last_exit_code }),
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
