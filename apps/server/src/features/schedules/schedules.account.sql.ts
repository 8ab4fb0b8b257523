import type { Db } from '../../kernel/db/db.ts';
import type { Definition } from './schedules.sql.ts';

/** One writer of references (chain steps, after) an account at a time, so that two edits cannot close a cycle. */
export async function lockReferences(db: Db, accountId: string): Promise<void> {
  await db`select pg_advisory_xact_lock(hashtextextended('schedules.references:' || ${accountId}::text, 0))`;
}

/** A schedule with what it leads to. */
interface Reference extends Pick<Definition, 'kind' | 'target'> {
  id: string;
  after: string | null;
  /** Of a chain. */
  spec: Record<string, unknown> | null;
}

/** Every schedule of an account with what it leads to: followers by trigger, steps by chain. */
export async function listReferences(db: Db, accountId: string): Promise<Reference[]> {
  return db<Reference[]>`
    select id, kind, target, after_id as after, case when kind = 'chain' then spec end as spec
    from schedules.schedules where account_id = ${accountId}`;
}

/** A device's approval of a command. */
export interface ApprovalRow {
  schedule_id: string;
  device_id: string;
  command_hash: string;
  approved_at: string;
}

/** Approvals of schedules, oldest first. */
export async function listApprovals(db: Db, scheduleIds: readonly string[]): Promise<ApprovalRow[]> {
  return db<ApprovalRow[]>`
    select schedule_id, device_id, command_hash, approved_at from schedules.approvals
    where schedule_id = any(${scheduleIds as string[]}::uuid[]) order by approved_at, device_id`;
}

/** Stores an approval; approving again renews it. */
export async function upsertApproval(db: Db, approval: ApprovalRow): Promise<void> {
  await db`
    insert into schedules.approvals (schedule_id, device_id, command_hash, approved_at)
    values (${approval.schedule_id}, ${approval.device_id}, ${approval.command_hash}, ${approval.approved_at})
    on conflict (schedule_id, device_id)
      do update set command_hash = excluded.command_hash, approved_at = excluded.approved_at`;
}

/** Withdraws approvals: of one device, or of all. */
export async function deleteApprovals(db: Db, scheduleId: string, deviceId?: string): Promise<void> {
  await db`
    delete from schedules.approvals where schedule_id = ${scheduleId}
      ${deviceId === undefined ? db`` : db`and device_id = ${deviceId}`}`;
}

/** Withdraws what was approved for a device, in all schedules of the account. */
export async function withdrawApprovals(db: Db, accountId: string, deviceId: string): Promise<void> {
  await db`
    delete from schedules.approvals a using schedules.schedules s
    where s.id = a.schedule_id and s.account_id = ${accountId} and a.device_id = ${deviceId}`;
}

/** An account's pause. */
export interface PauseRow {
  account_id: string;
  paused_at: string;
  until: string | null;
  resume_policy: 'skip' | 'backfill';
}

/** Starts a pause, or changes the one that holds; what was missed so far stays known. */
export async function upsertPause(db: Db, pause: PauseRow): Promise<void> {
  await db`
    insert into schedules.pauses (account_id, paused_at, until, resume_policy)
    values (${pause.account_id}, ${pause.paused_at}, ${pause.until}, ${pause.resume_policy})
    on conflict (account_id) do update set until = excluded.until, resume_policy = excluded.resume_policy`;
}

/** The pause of an account, also one that has run out and was not ended yet. */
export async function findPause(db: Db, accountId: string): Promise<PauseRow | undefined> {
  const [row] = await db<PauseRow[]>`
    select account_id, paused_at, until, resume_policy from schedules.pauses where account_id = ${accountId}`;
  return row;
}

/** Whether a pause holds the account at `now`, or it may not run anything. */
export async function isPaused(db: Db, accountId: string, now: string): Promise<boolean> {
  const [row] = await db<{ paused: boolean }[]>`
    select not a.may_run or exists (
        select 1 from schedules.pauses p where p.account_id = a.id and (p.until is null or p.until > ${now})) as paused
    from accounts.standing_view a where a.id = ${accountId}`;
  return row?.paused ?? true;
}

/** Pauses that have run out, locked; those with a slot in them that no ticker took yet come later. */
export async function lockEndedPauses(db: Db, now: string): Promise<PauseRow[]> {
  return db<PauseRow[]>`
    select p.account_id, p.paused_at, p.until, p.resume_policy from schedules.pauses p
    where p.until <= ${now}
      and not exists (
        select 1 from schedules.schedules s where s.account_id = p.account_id and s.next_run_at < p.until)
    order by p.account_id limit 10 for update skip locked`;
}

/** Ends a pause; answers false when there was none. */
export async function deletePause(db: Db, accountId: string): Promise<boolean> {
  return (await db`delete from schedules.pauses where account_id = ${accountId}`).count > 0;
}
