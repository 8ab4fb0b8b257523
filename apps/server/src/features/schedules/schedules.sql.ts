import type { z } from 'zod';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';
import { hiddenValue, type kinds, type newSchedule, type policy, type target, type trigger } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import type { Instant } from '../../kernel/db/instant.ts';

export type NewSchedule = z.output<typeof newSchedule>;
export type Trigger = z.output<typeof trigger>;
export type Policy = z.output<typeof policy>;

/** A schedule as its owner defined it; null where the owner gave nothing and a default holds. */
export interface Definition {
  name: string;
  description: string | null;
  enabled: boolean;
  kind: (typeof kinds)[number];
  spec: Record<string, unknown>;
  trigger: Trigger;
  target: z.output<typeof target> | null;
  failover: string[][] | null;
  native: boolean | null;
  policy: Policy | null;
  misfire: 'skip' | 'once' | 'all_within' | null;
  misfire_window_min: number | null;
  overlap: 'skip' | 'queue' | 'kill' | null;
  timeout_s: number | null;
  retries: number | null;
  retry_backoff_s: number | null;
  late_after_s: number | null;
  alert_on_fail: boolean | null;
  notify: 'on_failure' | 'on_change' | 'always' | 'never' | null;
  ignore: string[] | null;
  template: string | null;
  command_hash: string | null;
  /** Header values of an http schedule, sealed; `spec` has their names. */
  sealed_headers: Buffer | null;
}

/** A schedule as it is stored. */
export interface ScheduleRow extends Definition {
  id: string;
  account_id: string;
  /** The key that saved what runs; null: saved by an earlier version. */
  key_id: string | null;
  anchor_at: string;
  /** The rate that its timetable asks for (`ratePerMinute`). */
  slots_per_minute: number;
  /** Ascending; the first is `next_run_at`. */
  slots: string[];
  last_run_at: string | null;
  missed_slot: string | null;
  failures: number;
  last_output_hash: string | null;
  created_at: string;
  updated_at: string;
}

/** A schedule without its calendar: what runs are made from. */
export type ScheduleTerms = Omit<ScheduleRow, 'slots'>;

export const plainColumns = (db: Db) => db`
  s.id, s.account_id, s.key_id, s.name, s.description, s.enabled, s.kind, s.spec, s.trigger, s.target, s.failover, s.native,
  s.policy, s.misfire, s.misfire_window_min, s.overlap, s.timeout_s, s.retries, s.retry_backoff_s, s.late_after_s,
  s.alert_on_fail, s.notify, s.ignore, s.template, s.command_hash, s.sealed_headers, s.anchor_at, s.last_run_at, s.missed_slot, s.failures,
  s.last_output_hash, s.slots_per_minute, s.created_at, s.updated_at`;
const columns = (db: Db) => db`${plainColumns(db)}, s.slots`;

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
const definitionValues = (definition: Definition) => ({
  ...definition,
  event_id: definition.trigger.type === 'event' ? definition.trigger.trigger_id : null,
  after_id: definition.trigger.type === 'after' ? definition.trigger.schedule_id : null,
  spec: json(definition.spec),
  spec_bytes: Buffer.byteLength(json(definition.spec) ?? '') + (definition.sealed_headers?.length ?? 0),
  trigger: json(definition.trigger),
  target: json(definition.target),
  failover: json(definition.failover),
  policy: json(definition.policy),
});

/** Creates a schedule at `now`. */
export async function insertSchedule(
  db: Db,
  owner: { accountId: string; keyId: string },
  definition: Definition,
  times: { now: string; slots: string[]; rate: number },
): Promise<ScheduleRow> {
  const values = {
    ...definitionValues(definition),
    account_id: owner.accountId,
    key_id: owner.keyId,
    anchor_at: times.now,
    slots: times.slots,
    slots_per_minute: times.rate,
    next_run_at: times.slots[0] ?? null,
    created_at: times.now,
    updated_at: times.now,
  };
  const [row] = await db<ScheduleRow[]>`
    with s as (insert into schedules.schedules ${db(values)} returning *) select ${columns(db)} from s`;
  return row as ScheduleRow;
}

/** Limit of the schedules of an account. */
export const schedulesQuota: Quota = {
  name: 'schedules',
  remedy: 'delete one that is not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from schedules.schedules where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Runs that timetables ask for, in a minute. */
export const slotsQuota: Quota = {
  name: 'slots_per_minute',
  what: 'runs a minute by the timetables of its schedules',
  remedy: 'let some run less often, or switch some off',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select ceil(coalesce(sum(slots_per_minute), 0))::int as n from schedules.schedules
      where account_id = ${accountId} and enabled`;
    return row?.n ?? 0;
  },
};

/** A spec may be 1 MiB. */
export const scheduleBytesQuota: Quota = {
  name: 'schedule_bytes',
  what: 'bytes in the specs of its schedules',
  remedy: 'shorten or delete some',
  async count(db, accountId) {
    const [row] = await db<{ bytes: number }[]>`
      select coalesce(sum(spec_bytes), 0)::bigint as bytes from schedules.schedules
      where account_id = ${accountId}`;
    return row?.bytes ?? 0;
  },
};

/** Replaces what a schedule says and when it is due; `keyId`: the key that answers for what runs from now on. */
export async function updateSchedule(
  db: Db,
  id: string,
  definition: Definition,
  times: { now: string; anchor: string; slots: string[]; failures: number; rate: number; keyId: string | null },
): Promise<ScheduleRow> {
  const values = {
    ...definitionValues(definition),
    key_id: times.keyId,
    anchor_at: times.anchor,
    slots: times.slots,
    slots_per_minute: times.rate,
    next_run_at: times.slots[0] ?? null,
    failures: times.failures,
    updated_at: times.now,
  };
  const [row] = await db<ScheduleRow[]>`
    update schedules.schedules s set ${db(values)} where s.id = ${id} returning ${columns(db)}`;
  return row as ScheduleRow;
}

/** Http schedules with header values in clear, those after an id. */
export async function listClearHeaders(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from schedules.schedules
    where id > ${after} and kind = 'http' and case json_typeof(spec -> 'headers') when 'object' then exists (
      select 1 from json_each_text(spec -> 'headers') header where header.value <> ${hiddenValue} or sealed_headers is null) end
    order by id limit ${limit}`;
  return rows.map(({ id }) => id);
}

/** Stores the header values of a locked schedule, sealed; nothing else of it changes. */
export async function storeHeaders(db: Db, id: string, definition: Definition): Promise<void> {
  const { spec, spec_bytes, sealed_headers } = definitionValues(definition);
  await db`update schedules.schedules set ${db({ spec, spec_bytes, sealed_headers })} where id = ${id}`;
}

/** The sealed header values of a schedule. */
export async function findSealedHeaders(db: Db, id: string): Promise<Buffer | null> {
  const [row] = await db<{ sealed_headers: Buffer | null }[]>`
    select sealed_headers from schedules.schedules where id = ${id}`;
  return row?.sealed_headers ?? null;
}

/** A page of schedules ends with the one whose spec goes over this. */
const mostPageBytes = 4 * 2 ** 20;

/** Which schedules of an account are meant. */
interface ScheduleFilter {
  /** Part of the name, in any case. */
  q?: string | undefined;
  kind?: readonly Definition['kind'][] | undefined;
  enabled?: boolean | undefined;
}

/** Schedules of an account, newest first: a page, and how many there were when its bytes did not count. */
export async function listSchedules(
  db: Db,
  accountId: string,
  page: ScheduleFilter & PageQuery,
): Promise<(ScheduleRow & PagedRow & { found: number })[]> {
  const { q, kind, enabled } = page;
  return db<(ScheduleRow & PagedRow & { found: number })[]>`
    with found as (
      select id, created_at, spec_bytes from schedules.schedules
      where account_id = ${accountId} ${q === undefined ? db`` : db`and position(lower(${q}) in lower(name)) > 0`}
        ${kind === undefined ? db`` : db`and kind = any(${[...kind]}::text[])`}
        ${enabled === undefined ? db`` : db`and enabled = ${enabled}`}
        ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}
    ), sized as (
      select id, sum(spec_bytes) over (order by created_at desc, id desc) - spec_bytes as bytes_before,
        count(*) over ()::int as found
      from found
    )
    select ${columns(db)}, s.created_at::text as page_at, sized.found
    from sized join schedules.schedules s on s.id = sized.id
    where sized.bytes_before <= ${mostPageBytes}
    order by s.created_at desc, s.id desc`;
}

/** A schedule of an account. */
export async function findSchedule(db: Db, accountId: string, id: string): Promise<ScheduleRow | undefined> {
  const [row] = await db<ScheduleRow[]>`
    select ${columns(db)} from schedules.schedules s where s.id = ${id} and s.account_id = ${accountId}`;
  return row;
}

/** The schedule, locked: every transaction that creates or ends a run of it holds this lock first. */
export async function lockSchedule(db: Db, id: string): Promise<ScheduleRow | undefined> {
  const [row] = await db<ScheduleRow[]>`
    select ${columns(db)} from schedules.schedules s where s.id = ${id} for update`;
  return row;
}

/** The same without waiting for another holder of the lock. */
export async function tryLockSchedule(db: Db, id: string): Promise<ScheduleRow | 'locked' | undefined> {
  const [row] = await db<ScheduleRow[]>`
    select ${columns(db)} from schedules.schedules s where s.id = ${id} for update skip locked`;
  if (row) return row;
  return (await db`select 1 from schedules.schedules where id = ${id}`).length > 0 ? 'locked' : undefined;
}

/** Deletes a schedule and its approvals. */
export async function deleteSchedule(db: Db, id: string): Promise<void> {
  await db`delete from schedules.schedules where id = ${id}`;
}

/** Notes when runs were started that run no more. Under the schedule's lock: a run is locked after its schedule. */
export async function touchLastRun(db: Db, ids: readonly string[], now: string): Promise<void> {
  if (ids.length === 0) return;
  await db`
    update schedules.schedules set last_run_at = greatest(last_run_at, ${now})
    where id in (select id from schedules.schedules where id = any(${[...ids]}::uuid[]) order by id for update)`;
}

/** When the runs that run now were started, by schedule: no claim writes to its schedule. */
export async function listStarts(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await db<{ schedule_id: string; started_at: string | null }[]>`
    select schedule_id, started_at from scheduler.running_view where schedule_id = any(${[...ids]}::uuid[])`;
  return new Map(rows.flatMap(({ schedule_id, started_at }) => (started_at ? [[schedule_id, started_at]] : [])));
}

/** Stores how the last run went. A disabled schedule has no slots. */
export async function recordOutcome(
  db: Db,
  id: string,
  outcome: { failures: number; disable: boolean; outputHash: string | null; now: string; startedAt: string | null },
): Promise<void> {
  const { failures, disable, outputHash, now, startedAt } = outcome;
  await db`
    update schedules.schedules set failures = ${failures}, last_output_hash = coalesce(${outputHash}, last_output_hash),
      last_run_at = greatest(last_run_at, ${startedAt})
      ${disable ? db`, enabled = false, slots = '{}', next_run_at = null, updated_at = ${now}` : db``}
    where id = ${id}`;
}

/** True of schedules whose account may run and is held by no pause at `now`. */
const isAwake = (db: Db, now: string) => db`
  exists (select 1 from accounts.standing_view a where a.id = s.account_id and a.may_run)
  and not exists (
    select 1 from schedules.pauses p where p.account_id = s.account_id and (p.until is null or p.until > ${now}))`;

/** Enabled schedules with this event trigger, locked in one order; none while the account is paused. */
export async function lockEventSchedules(
  db: Db,
  accountId: string,
  triggerId: string,
  now: Instant,
): Promise<ScheduleRow[]> {
  return db<ScheduleRow[]>`
    select ${columns(db)} from schedules.schedules s
    where s.account_id = ${accountId} and s.event_id = ${triggerId} and s.enabled and ${isAwake(db, now.iso)}
    order by s.id for update`;
}

/** Enabled schedules that run after the given one, locked; none while the account is paused. */
export async function lockFollowers(
  db: Db,
  accountId: string,
  scheduleId: string,
  now: Instant,
): Promise<ScheduleRow[]> {
  return db<ScheduleRow[]>`
    select ${columns(db)} from schedules.schedules s
    where s.after_id = ${scheduleId} and s.account_id = ${accountId} and s.enabled and ${isAwake(db, now.iso)}
    order by s.id for update`;
}

/** Takes the enabled schedules that missed slots in a pause, locked, and forgets that any did. */
export async function takeMissed(db: Db, accountId: string): Promise<ScheduleRow[]> {
  const rows = await db<ScheduleRow[]>`
    select ${columns(db)} from schedules.schedules s
    where s.account_id = ${accountId} and s.missed_slot is not null order by s.id for update`;
  await db`
    update schedules.schedules set missed_slot = null where account_id = ${accountId} and missed_slot is not null`;
  return rows.filter((row) => row.enabled);
}

/** Projects in which the device is the machine of an environment of the account. */
export async function projectsServedBy(
  db: Db,
  accountId: string,
  deviceId: string | undefined,
): Promise<ReadonlySet<string>> {
  if (deviceId === undefined) return new Set();
  const rows = await db<{ project_id: string }[]>`
    select project_id from environments.daemons_view
    where account_id = ${accountId} and device_id = ${deviceId} and is_there`;
  return new Set(rows.map(({ project_id: id }) => id));
}
