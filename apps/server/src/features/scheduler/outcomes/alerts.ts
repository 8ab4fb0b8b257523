import { createHash } from 'node:crypto';
import type { Words } from '@svc/words';
import type { Db } from '../../../kernel/db/db.ts';
import type { Instant } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { findDevices } from '../../devices/index.ts';
import { deepLink, type EndOfCause, type NoticeText, notify, resolveNotifications } from '../../notifications/index.ts';
import type { ScheduleTerms } from '../../schedules/index.ts';
import type { CreatedRun, RunRow } from '../scheduler.sql.ts';
import { runStates } from '../scheduler.states.ts';

/** Alerts about schedules and runs (document 2, Events). Each is sent once: its key drops repeats. */
type Severity = 'info' | 'warning' | 'critical';

type Says = (words: Words['alerts']['runs']) => NoticeText;

async function tellOfRun(
  kernel: Kernel,
  db: Db,
  run: CreatedRun,
  alert: { type: string; says: Says; severity: Severity; key?: string; cause?: string },
): Promise<void> {
  const { type, says, severity, key = run.id, cause } = alert;
  await notify(kernel, db, {
    accountId: run.account_id,
    dedupeKey: `${type}:${key}`,
    type,
    says: ({ runs }) => says(runs),
    severity,
    url: deepLink(kernel.config, 'schedule-runs', run.id),
    data: { run_id: run.id, schedule_id: run.schedule_id, state: run.state },
    ...(cause !== undefined && { cause }),
  });
}

/** A run waits for a person: approve or skip it from any device. */
export async function tellAwaitingApproval(kernel: Kernel, db: Db, run: CreatedRun, now: Instant): Promise<void> {
  await tellOfRun(kernel, db, run, {
    type: 'schedule.approval',
    says: (words) => ({ title: words.approval(run.name), body: words.approvalText }),
    // An edit may ask a second time.
    key: `${run.id}:${now.ms}`,
    severity: 'warning',
    cause: runCause(run.id),
  });
}

/** Nobody started a run within `late_after_s`. */
export async function tellLate(kernel: Kernel, db: Db, run: RunRow): Promise<void> {
  await tellOfRun(kernel, db, run, {
    type: 'schedule.late',
    says: (words) => ({ title: words.late(run.name), body: words.lateText(run.scheduled_for) }),
    severity: 'warning',
    cause: runCause(run.id),
  });
}

/** A machine handed a run back: what was approved in the account was not approved on the machine. */
export async function tellMustApprove(kernel: Kernel, db: Db, run: RunRow): Promise<void> {
  const device = run.refused_by.at(-1) ?? '';
  const [known] = await findDevices(db, run.account_id, [device]);
  const host = known?.name || device;
  const text = run.kind === 'shell' ? 'mustApproveCommand' : 'mustApprovePrompt';
  await tellOfRun(kernel, db, run, {
    type: 'schedule.host_approval',
    says: (words) => ({ title: words.mustApprove(host, run.name), body: words[text](run.schedule_id) }),
    // Once for what is to be approved.
    key: [run.schedule_id, device, hashOf(run)].join(':'),
    severity: 'warning',
    cause: hostCause(run.schedule_id, device),
  });
}

const hashOf = ({ spec, spec_hash: hash }: RunRow): string =>
  hash ? hash.toString('hex') : createHash('sha256').update(JSON.stringify(spec)).digest('hex');

/** A run failed for good; `cause` is the run that its failure is put down to, told once however many it takes along. */
export async function tellFailed(kernel: Kernel, db: Db, run: RunRow, cause: string): Promise<void> {
  const { name, state, error, exit_code: code } = run;
  // A machine may say it in these words.
  const isSaid = error !== null && code !== null && error.includes(`exit code ${code}`);
  const says: Says = (words) => {
    const parts = [error, code === null || isSaid ? null : words.exit(String(code))];
    const body = parts.filter((part) => part !== null).join(', ') || words.failedText;
    return { title: words[state === 'timed_out' ? 'timedOut' : 'failed'](name), body };
  };
  const alert = { type: 'schedule.failed', says, key: cause, severity: 'critical' } as const;
  await tellOfRun(kernel, db, run, { ...alert, cause: scheduleCause(run.schedule_id) });
}

/** A run succeeded, and its schedule asks to hear of each. */
export async function tellSucceeded(kernel: Kernel, db: Db, run: RunRow): Promise<void> {
  await tellOfSuccess(kernel, db, run, 'schedule.succeeded', 'succeeded');
}

/** The output is not what it was at the last success. */
export async function tellChanged(kernel: Kernel, db: Db, run: RunRow, lines: readonly string[]): Promise<void> {
  await tellOfSuccess(kernel, db, run, 'schedule.changed', 'changed', lines.join('\n').slice(0, mostBody));
}

/** The first success after failures. */
export async function tellRecovered(kernel: Kernel, db: Db, run: RunRow): Promise<void> {
  await tellOfSuccess(kernel, db, run, 'schedule.changed', 'recovered');
}

/** Characters of an output in an alert. */
const mostBody = 500;

async function tellOfSuccess(
  kernel: Kernel,
  db: Db,
  run: RunRow,
  type: string,
  how: 'succeeded' | 'changed' | 'recovered',
  told = '',
): Promise<void> {
  // The output changed beyond its end, or only in its order: the end is what there is to show.
  const body = told === '' ? (run.log_tail ?? '').slice(-mostBody) : told;
  const says: Says = (words) => ({ title: words[how](run.name), body: body.toWellFormed() });
  await tellOfRun(kernel, db, run, { type, says, severity: 'info' });
}

async function tellOfSchedule(
  kernel: Kernel,
  db: Db,
  schedule: ScheduleTerms,
  alert: { type: string; says: Says; key: string; cause?: string },
): Promise<void> {
  const { type, says, key, cause } = alert;
  await notify(kernel, db, {
    accountId: schedule.account_id,
    dedupeKey: `${type}:${schedule.id}:${key}`,
    type,
    says: ({ runs }) => says(runs),
    severity: 'warning',
    url: deepLink(kernel.config, 'schedules', schedule.id),
    data: { schedule_id: schedule.id },
    ...(cause !== undefined && { cause }),
  });
}

/** The day's budget is reached: no more runs today. Once a day and schedule. */
export async function tellBudgetReached(kernel: Kernel, db: Db, schedule: ScheduleTerms, day: string): Promise<void> {
  await tellOfSchedule(kernel, db, schedule, {
    type: 'schedule.budget',
    says: (words) => ({ title: words.budget(schedule.name), body: words.budgetText }),
    key: day,
  });
}

/** The schedule switched itself off after failures in a row. */
export async function tellDisabled(kernel: Kernel, db: Db, schedule: ScheduleTerms, run: RunRow): Promise<void> {
  await tellOfSchedule(kernel, db, schedule, {
    type: 'schedule.disabled',
    says: (words) => ({ title: words.off(schedule.name), body: words.offText(String(schedule.failures)) }),
    key: run.id,
    cause: scheduleCause(schedule.id),
  });
}

// Of what alerts tell, and wait for the end of.
const runCause = (runId: string): string => `run:${runId}`;
const hostCause = (scheduleId: string, deviceId: string): string => `host:${scheduleId}:${deviceId}`;
const scheduleCause = (scheduleId: string): string => `schedule:${scheduleId}`;

type Of = Pick<RunRow, 'account_id' | 'schedule_id'>;

/** A run that waited for somebody, or that a machine handed back, goes on or is over. */
export async function resolveRun(kernel: Kernel, db: Db, was: RunRow, is: RunRow): Promise<void> {
  const ends: EndOfCause[] = [];
  const isOver = runStates.isFinal(is.state);
  const waited = was.state === 'awaiting_approval' || (was.state === 'pending' && isOver);
  const { account_id: accountId, schedule_id: scheduleId } = is;
  if (waited && is.state !== was.state) ends.push({ accountId, cause: runCause(is.id), resolution: endOf(is) });
  // It was handed back before, and was done now: its machine has approved it.
  const ran = is.state === 'succeeded' || is.state === 'failed' || is.state === 'timed_out';
  if (ran && is.attempt > 1 && is.holder_id !== null)
    ends.push({ accountId, cause: hostCause(scheduleId, is.holder_id), resolution: 'approved' });
  await resolveNotifications(kernel, db, ends);
}

/** How what a run waited for ended. */
function endOf({ state }: RunRow): EndOfCause['resolution'] {
  if (state === 'pending') return 'approved';
  if (state === 'skipped' || state === 'cancelled' || state === 'expired') return state;
  return state === 'running' || state === 'succeeded' ? 'started' : 'cancelled';
}

/** A run that nobody had started was taken by somebody. */
export const resolveLate = (kernel: Kernel, db: Db, { id, account_id: accountId }: RunRow): Promise<void> =>
  resolveNotifications(kernel, db, [{ accountId, cause: runCause(id), resolution: 'started' }]);

/** A schedule whose runs failed works again (`recovered`), was switched on again (`resumed`), or is gone (`removed`). */
export const resolveSchedule = (
  kernel: Kernel,
  db: Db,
  { account_id: accountId, schedule_id: id }: Of,
  resolution: 'recovered' | 'resumed' | 'removed',
): Promise<void> => resolveNotifications(kernel, db, [{ accountId, cause: scheduleCause(id), resolution }]);

/** A command was approved on a machine. */
export const resolveHost = (
  kernel: Kernel,
  db: Db,
  { account_id: accountId, schedule_id: id }: Of,
  deviceId: string,
): Promise<void> =>
  resolveNotifications(kernel, db, [{ accountId, cause: hostCause(id, deviceId), resolution: 'approved' }]);
