import type { schedule } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../kernel/db/db.ts';
import { hiddenSpec } from './schedules.headers.ts';
import { effective, upcomingOf } from './schedules.rules.ts';
import { type ApprovalRow, listApprovals } from './schedules.account.sql.ts';
import { listStarts, type ScheduleRow } from './schedules.sql.ts';

type View = z.input<typeof schedule>;

/** Schedules as they are answered: defaults filled in, what was never said left out. */
export async function viewSchedules(db: Db, rows: readonly ScheduleRow[], now: number): Promise<View[]> {
  const shells = rows.filter((row) => row.kind === 'shell').map((row) => row.id);
  const approvals = Map.groupBy(shells.length === 0 ? [] : await listApprovals(db, shells), (row) => row.schedule_id);
  const starts =
    rows.length === 0
      ? new Map<string, string>()
      : await listStarts(
          db,
          rows.map((row) => row.id),
        );
  return rows.map((row) => {
    const last = [row.last_run_at, starts.get(row.id) ?? null].filter((at) => at !== null).sort();
    return view({ ...row, last_run_at: last.at(-1) ?? null }, approvals.get(row.id) ?? [], now);
  });
}

/** One schedule as it is answered. */
export async function viewSchedule(db: Db, row: ScheduleRow, now: number): Promise<View> {
  return (await viewSchedules(db, [row], now))[0] as View;
}

function view(row: ScheduleRow, approvals: readonly ApprovalRow[], now: number): View {
  const upcoming = upcomingOf(row, now);
  const said = {
    description: row.description,
    failover: row.failover,
    native: row.native,
    policy: row.policy,
    alert_on_fail: row.alert_on_fail,
    ignore: row.ignore,
    template: row.template,
    command_hash: row.command_hash,
    // A slot that nobody took yet stays: it is late, and not passed over.
    next_run_at: row.enabled ? row.slots[0] : undefined,
    last_run_at: row.last_run_at,
  };
  return {
    id: row.id,
    name: row.name,
    enabled: row.enabled,
    kind: row.kind,
    spec: hiddenSpec(row),
    trigger: row.trigger,
    ...effective(row),
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value != null)),
    upcoming,
    ...(row.kind === 'shell' && {
      approvals: approvals.map(({ device_id, command_hash, approved_at }) => ({
        device_id,
        command_hash,
        approved_at,
      })),
    }),
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
