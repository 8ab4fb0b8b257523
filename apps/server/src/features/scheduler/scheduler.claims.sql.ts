import type { Db } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';
import type { Deal } from '../../kernel/places.ts';
import { runColumns, type RunRow, type RunState } from './scheduler.sql.ts';
import { runMoves } from './scheduler.states.ts';

/** A machine that claims. */
export interface HostRow {
  id: string;
  device_id: string;
  /** Set by a person; null: the device's name. */
  name: string | null;
  tags: string[];
  kinds: string[];
  paused: boolean;
  max_parallel: number | null;
  last_seen: string;
  online: boolean;
  running: number;
}

/** What a machine says of itself when it claims. */
export interface HostReport {
  accountId: string;
  deviceId: string;
  kinds: string[];
  /** Undefined: the tags of the last report stay. */
  tags: string[] | undefined;
}

/** What a claim needs to know of its machine. */
export interface Claimer {
  id: string;
  tags: string[];
  paused: boolean;
  max_parallel: number | null;
}

/**
 * Notes that the machine is there. A row that says the same and is younger than 5 s is read, not written: a claim a
 * second from each of many machines would otherwise write as often.
 */
export async function seeHost(db: Db, report: HostReport, now: string): Promise<Claimer> {
  const { accountId, deviceId, kinds, tags = null } = report;
  const [known] = await db<(Claimer & { fresh: boolean })[]>`
    select id, coalesce(tags, reported_tags) as tags, paused, max_parallel,
      last_seen > ${now}::timestamptz - interval '5 s' and kinds = ${kinds}
        and reported_tags = coalesce(${tags}::text[], reported_tags) as fresh
    from scheduler.hosts where account_id = ${accountId} and device_id = ${deviceId}`;
  if (known?.fresh) return known;
  const [row] = await db<Claimer[]>`
    insert into scheduler.hosts as h (account_id, device_id, kinds, reported_tags, last_seen)
    values (${accountId}, ${deviceId}, ${kinds}, coalesce(${tags}::text[], '{}'), ${now})
    on conflict (account_id, device_id) do update set
      kinds = excluded.kinds, reported_tags = coalesce(${tags}::text[], h.reported_tags),
      last_seen = greatest(h.last_seen, excluded.last_seen)
    returning id, coalesce(tags, reported_tags) as tags, paused, max_parallel`;
  return row as Claimer;
}

/** Notes that a machine with a run is there. */
export async function touchHost(db: Db, accountId: string, deviceId: string, now: string): Promise<void> {
  await db`
    update scheduler.hosts set last_seen = ${now}
    where account_id = ${accountId} and device_id = ${deviceId}
      and last_seen < ${now}::timestamptz - interval '5 s'`;
}

/** Locks the machine's row and counts what it runs; claims of a machine with a limit go one after the other. */
export async function countRunning(db: Db, hostId: string, deviceId: string): Promise<number> {
  await db`select 1 from scheduler.hosts where id = ${hostId} for update`;
  const [row] = await db<{ running: number }[]>`
    select count(*)::int as running from scheduler.runs r join scheduler.hosts h on h.account_id = r.account_id
    where h.id = ${hostId} and r.holder_id = ${deviceId} and r.state = 'running'`;
  return row?.running ?? 0;
}

/** Runs of one schedule go one after the other, in the order of their slots. */
const isNext = (db: Db) => db`not exists (
  select 1 from scheduler.runs other
  where other.schedule_id = r.schedule_id
    and (other.state = 'running'
      or (other.state = 'pending' and (other.scheduled_for, other.id) < (r.scheduled_for, r.id))))`;

/** Who claims for how long. */
export interface Claim {
  holderId: string;
  now: string;
  leaseUntil: string;
}

/** The states that a move starts from, as text: a plan that does not know them cannot use the partial indexes. */
const textOf = (states: readonly RunState[]): TemplateStringsArray => {
  const text = [states.map((state) => `'${state}'`).join(', ')];
  return Object.assign(text, { raw: text });
};
const { from, outcomes } = runMoves.claim;
// Made once: postgres.js takes a stack trace for each text that is new to it.
const claimable = textOf(from);
const claimed = textOf(outcomes.map(({ to }) => to));
const renewable = textOf(runMoves.keep.from);

/** What makes a run this holder's: the columns of the move `claim`, with which a test compares them. */
const held = (db: Db, claim: Claim) => db`
  state = ${db(claimed)}, holder_id = ${claim.holderId}, started_at = ${claim.now}, lease_expires_at = ${claim.leaseUntil},
  late_at = null, error = null, exit_code = null, log_tail = null`;

/** A machine that claims, and what it may run. */
export interface ClaimingHost {
  deviceId: string;
  kinds: string[];
  tags: string[];
}

/** Of a pending run: the machine may run it now. A shell run needs the machine's approval of its command. */
const isRunnable = (db: Db, accountId: string, host: ClaimingHost, claim: Claim) => db`
  r.account_id = ${accountId} and r.state in (${db(claimable)}) and r.pool = 'host'
  and r.not_before <= ${claim.now} and r.kind = any(${host.kinds})
  and (r.kind <> 'shell' or exists (
    select 1 from schedules.approval_view a
    where a.schedule_id = r.schedule_id and a.device_id = ${host.deviceId} and a.command_hash = r.command_hash))
  and ${isNext(db)}`;

/**
 * Takes the run that is due longest and whose target is this machine; `patient`: also one whose row somebody looks at in
 * this instant.
 */
export async function claimForHost(
  db: Db,
  accountId: string,
  host: ClaimingHost,
  claim: Claim,
  patient: boolean,
): Promise<RunRow | undefined> {
  const [row] = await db<RunRow[]>`
    with next as (
      select r.id from scheduler.runs r
      where (r.target_type = 'any'
          or (r.target_type = 'host' and r.target_id = ${host.deviceId})
          or (r.target_type = 'tags' and r.target_tags <@ ${host.tags}::text[]))
        and ${isRunnable(db, accountId, host, claim)}
      order by r.scheduled_for, r.id limit 1
      for update of r ${patient ? db`` : db`skip locked`}
    )
    update scheduler.runs as r set ${held(db, claim)} from next where r.id = next.id
    returning ${runColumns(db)}`;
  return row;
}

/**
 * Takes a run whose target is not there: its failover sets are tried in order, and the first one of which a machine was
 * seen in the last 45 s is this machine's. The machines that are there are read once, not for each run.
 */
export async function claimFailover(
  db: Db,
  accountId: string,
  host: ClaimingHost,
  claim: Claim,
): Promise<RunRow | undefined> {
  const [row] = await db<RunRow[]>`
    with online as materialized (
      select device_id, coalesce(tags, reported_tags) as tags from scheduler.hosts
      where account_id = ${accountId} and last_seen > ${claim.now}::timestamptz - interval '45 s'
    ),
    next as (
      select r.id from scheduler.runs r
      where r.failover is not null
        and not exists (select 1 from online o
          where (r.target_type = 'host' and o.device_id = r.target_id)
            or (r.target_type = 'tags' and o.tags @> r.target_tags))
        and ${host.tags}::text[] @> (
          select array(select json_array_elements_text(s.wanted))
          from json_array_elements(r.failover) with ordinality s(wanted, rank)
          where exists (select 1 from online o where o.tags @> array(select json_array_elements_text(s.wanted)))
          order by s.rank limit 1)
        and ${isRunnable(db, accountId, host, claim)}
      order by r.scheduled_for, r.id limit 1
      for update of r skip locked
    )
    update scheduler.runs as r set ${held(db, claim)} from next where r.id = next.id
    returning ${runColumns(db)}`;
  return row;
}

/**
 * Takes runs of the cloud of these kinds; chains run by themselves. They are dealt by account in turn: the first of each
 * account that has none, then the second, as far as the places go. The accounts are found by the index, one step each;
 * one that may not run anything gets none.
 */
export async function claimForCloud(db: Db, kinds: string[], deal: Deal, claim: Claim): Promise<RunRow[]> {
  const isWaiting = db`state in (${db(claimable)}) and pool = 'cloud'`;
  return db<RunRow[]>`
    with recursive accounts as (
      (select account_id from scheduler.runs where ${isWaiting} order by account_id limit 1)
      union all
      select (select w.account_id from scheduler.runs w
          where ${isWaiting} and w.account_id > a.account_id order by w.account_id limit 1)
        from accounts a where a.account_id is not null
    ),
    taken as (
      select * from unnest(${[...deal.taken.keys()]}::uuid[], ${[...deal.taken.values()]}::int[]) as t(account_id, places)
    ),
    dealt as (
      select w.id from accounts a join accounts.standing_view v on v.id = a.account_id and v.may_run
        left join taken t on t.account_id = a.account_id cross join lateral (
        select r.id, r.scheduled_for, coalesce(t.places, 0) + row_number() over (order by r.scheduled_for, r.id) as turn
        from scheduler.runs r
        where r.account_id = a.account_id and r.state in (${db(claimable)}) and r.pool = 'cloud'
          and r.kind = any(${kinds}) and r.not_before <= ${claim.now} and ${isNext(db)}
        order by r.scheduled_for, r.id limit ${deal.mostOfOne}
      ) w
      where w.turn <= ${deal.mostOfOne}
      order by w.turn, w.scheduled_for, w.id limit ${deal.total}
    ),
    next as (
      select r.id from scheduler.runs r join dealt using (id)
      where r.state in (${db(claimable)}) for update of r skip locked
    )
    update scheduler.runs as r set ${held(db, claim)} from next where r.id = next.id
    returning ${runColumns(db)}`;
}

/** Those of the accounts that may not run anything now. */
export async function findSuspended(db: Db, accountIds: string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from accounts.standing_view where id = any(${accountIds}::uuid[]) and not may_run`;
  return rows.map(({ id }) => id);
}

/** Renews a lease, the move `keep` of the table in one statement; undefined when the table does not allow it. */
export async function renewLease(
  db: Db,
  held: { id: string; attempt: number; holderId: string },
  values: { now: string; leaseUntil: string; logTail: string | undefined; costMicroUsd: number | undefined },
): Promise<RunRow | undefined> {
  const { logTail = null, costMicroUsd = null } = values;
  const [row] = await db<RunRow[]>`
    update scheduler.runs as r set lease_expires_at = ${values.leaseUntil}, log_tail = coalesce(${logTail}, r.log_tail),
      cost_micro_usd = r.cost_before_micro_usd
        + greatest(r.cost_micro_usd - r.cost_before_micro_usd, coalesce(${costMicroUsd}::bigint, 0))
    where r.id = ${held.id} and r.attempt = ${held.attempt} and r.holder_id = ${held.holderId}
      and r.state in (${db(renewable)}) and r.lease_expires_at > ${values.now}
    returning ${runColumns(db)}`;
  return row;
}

const hostColumns = (db: Db, now: string) => db`
  h.id, h.device_id, h.name, coalesce(h.tags, h.reported_tags) as tags, h.kinds, h.paused, h.max_parallel, h.last_seen,
  h.last_seen > ${now}::timestamptz - interval '45 s' as online,
  (select count(*)::int from scheduler.runs r
    where r.holder_id = h.device_id and r.account_id = h.account_id and r.state = 'running') as running`;

/** Machines of an account, most recently seen first. */
export async function listHosts(
  db: Db,
  accountId: string,
  now: string,
  page: PageQuery,
): Promise<(HostRow & PagedRow)[]> {
  return db<(HostRow & PagedRow)[]>`
    select ${hostColumns(db, now)}, h.last_seen::text as page_at from scheduler.hosts h
    where h.account_id = ${accountId} ${pageEnd(db, page, { at: db`h.last_seen`, id: db`h.id`, newestFirst: true })}`;
}

/** Changes what a person says of a machine; undefined when the account has no such machine. */
export async function updateHostRow(
  db: Db,
  accountId: string,
  id: string,
  change: { name?: string; tags?: string[]; paused?: boolean; max_parallel?: number | null },
  now: string,
): Promise<HostRow | undefined> {
  const [row] = await db<HostRow[]>`
    update scheduler.hosts h set ${db(change)} where h.id = ${id} and h.account_id = ${accountId}
    returning ${hostColumns(db, now)}`;
  return row;
}

/** Forgets machines that were not seen for 90 days. */
export async function sweepHosts(db: Db, now: string): Promise<void> {
  await db`delete from scheduler.hosts where last_seen < ${now}::timestamptz - interval '90 days'`;
}
