import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db/db.ts';
import { deepLink, notify } from '../notifications/index.ts';
import type { ScheduleTerms } from '../schedules/index.ts';
import type { CreatedRun, RunRow } from './scheduler.sql.ts';

/** What people are told of schedules and runs (document 2, Events). Each is said once: its key makes repeats vanish. */
type Severity = 'info' | 'warning' | 'critical';

async function tellOfRun(
  kernel: Kernel,
  db: Db,
  run: CreatedRun,
  alert: { type: string; title: string; body: string; severity: Severity; key?: string },
): Promise<void> {
  const { type, title, body, severity, key = run.id } = alert;
  await notify(kernel, db, {
    accountId: run.account_id,
    dedupeKey: `${type}:${key}`,
    type,
    title,
    body,
    severity,
    url: deepLink(kernel.config, 'schedule-runs', run.id),
    data: { run_id: run.id, schedule_id: run.schedule_id, state: run.state },
  });
}

/** A run waits for a person: approve or skip it from any device. */
export async function tellAwaitingApproval(kernel: Kernel, db: Db, run: CreatedRun, now: number): Promise<void> {
  const body = 'Approve or skip this run; it is skipped by itself after 24 hours.';
  await tellOfRun(kernel, db, run, {
    type: 'schedule.approval',
    title: `${run.name} awaits approval`,
    body,
    // An edit may ask a second time.
    key: `${run.id}:${now}`,
    severity: 'warning',
  });
}

/** Nobody started a run within `late_after_s`. */
export async function tellLate(kernel: Kernel, db: Db, run: RunRow): Promise<void> {
  const body = `It was due at ${run.scheduled_for}. Check that a host for it is online and has approved its command.`;
  await tellOfRun(kernel, db, run, {
    type: 'schedule.late',
    title: `${run.name} was not started`,
    body,
    severity: 'warning',
  });
}

/** A run failed for good. */
export async function tellFailed(kernel: Kernel, db: Db, run: RunRow): Promise<void> {
  const exit = run.exit_code === null ? undefined : `exit code ${run.exit_code}`;
  const body = [run.error, exit].filter((part) => part != null).join(', ') || 'The run failed.';
  const title = `${run.name} ${run.state === 'timed_out' ? 'timed out' : 'failed'}`;
  await tellOfRun(kernel, db, run, { type: 'schedule.failed', title, body, severity: 'critical' });
}

/** A run succeeded, and its schedule asks to hear of it; `changed`: because the output is not what it was. */
export async function tellSucceeded(kernel: Kernel, db: Db, run: RunRow, changed: boolean): Promise<void> {
  await tellOfRun(kernel, db, run, {
    type: changed ? 'schedule.changed' : 'schedule.succeeded',
    title: changed ? `${run.name}: the output changed` : `${run.name} succeeded`,
    body: (run.log_tail ?? '').slice(-500),
    severity: 'info',
  });
}

async function tellOfSchedule(
  kernel: Kernel,
  db: Db,
  schedule: ScheduleTerms,
  alert: { type: string; title: string; body: string; key: string },
): Promise<void> {
  const { type, title, body, key } = alert;
  await notify(kernel, db, {
    accountId: schedule.account_id,
    dedupeKey: `${type}:${schedule.id}:${key}`,
    type,
    title,
    body,
    severity: 'warning',
    url: deepLink(kernel.config, 'schedules', schedule.id),
    data: { schedule_id: schedule.id },
  });
}

/** The day's budget is reached: no more runs today. Once a day and schedule. */
export async function tellBudgetReached(kernel: Kernel, db: Db, schedule: ScheduleTerms, day: string): Promise<void> {
  await tellOfSchedule(kernel, db, schedule, {
    type: 'schedule.budget',
    title: `${schedule.name} reached its daily budget`,
    body: 'No more runs are created today. Raise budget_micro_usd_per_day to run it again.',
    key: day,
  });
}

/** The schedule switched itself off after failures in a row. */
export async function tellDisabled(kernel: Kernel, db: Db, schedule: ScheduleTerms, run: RunRow): Promise<void> {
  await tellOfSchedule(kernel, db, schedule, {
    type: 'schedule.disabled',
    title: `${schedule.name} was switched off`,
    body: `${schedule.failures} runs failed in a row. Mend the cause, then enable the schedule again.`,
    key: run.id,
  });
}
