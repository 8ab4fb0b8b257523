import type { Db } from '../../../kernel/db/db.ts';
import { fragmentOf, leastId, statement } from '../../../kernel/db/statement.ts';
import { listText } from '../../../kernel/machine.ts';
import type { Deal } from '../../../kernel/share/share.ts';
import { recording } from '../../../kernel/streams/feed.ts';
import { fencePattern, fenceText } from '../scheduler.fence.ts';
import { changesOf } from '../scheduler.changes.ts';
import { runs } from '../scheduler.moves.ts';
import { runColumns, runColumnsText, type RunRow } from '../scheduler.sql.ts';

/** A claim: its holder, and until when it holds. */
interface Claim {
  holderId: string;
  now: string;
  leaseUntil: string;
}

// As text: a plan that does not know the states cannot use the partial indexes.
const claimable = listText(runs.moves.claim.from);
const claimed = listText(runs.moves.claim.outcomes.map(({ to }) => to));
const renewable = fragmentOf(listText(runs.moves.keep.from));

/**
 * Runs of one schedule go one after the other, in the order of their slots: also after an attempt that was ended, whose
 * process may live until its holder says that it is gone, or its lease is over. `now` is a place of the statement, as
 * are those of the pieces below. `offset 0` asks each question of one run: as a join it is planned for the few runs of
 * a quiet night, and compares each run of a burst with all the others.
 */
const isNext = (now: string): string => `not exists (
  select 1 from scheduler.runs other
  where other.schedule_id = r.schedule_id
    and (other.state = 'running'
      or (other.state = 'pending' and (other.scheduled_for, other.id) < (r.scheduled_for, r.id)))
  offset 0)
  and not exists (
    select 1 from scheduler.runs other
    where other.schedule_id = r.schedule_id and other.ending_until > ${now} offset 0)`;

/** The columns that make a run its holder's: those of the move `claim`, with which a test compares them. */
const held = (holder: string, now: string, leaseUntil: string): string => `
  state = ${claimed}, holder_id = ${holder}, started_at = ${now}, lease_expires_at = ${leaseUntil},
  late_at = null, error = null, exit_code = null, ended_processes = null, log_tail = null`;

/** Ends a statement whose part `next` has the runs to claim: moves them, and records the change with them. */
const claiming = (holder: string, now: string, leaseUntil: string, shown = '*'): string => `
  , claimed as (
    update scheduler.runs as r set ${held(holder, now, leaseUntil)} from next where r.id = next.id
    returning ${runColumnsText}
  ), told as (${recording(changesOf('claimed'))})
  select ${shown} from claimed`;

/** A run that a machine took; `ignore`: what of its schedule's output is no change. */
export interface HostRun extends RunRow {
  ignore: string[] | null;
}

/** A machine that claims, and what it may run. */
interface ClaimingHost {
  deviceId: string;
  kinds: string[];
  tags: string[];
}

/** Account, device, kinds, now, until when the lease is, and tags of a machine that claims. */
const [account, device, kinds, now, leaseUntil, tags] = [
  '$1::uuid',
  '$2::uuid',
  '$3::text[]',
  '$4::timestamptz',
  '$5::timestamptz',
  '$6::text[]',
];
const valuesOf = (accountId: string, host: ClaimingHost, claim: Claim) =>
  [accountId, host.deviceId, host.kinds, claim.now, claim.leaseUntil, host.tags] as const;

/** Of a pending run: the machine may run it now. A shell run needs the machine's approval of its command. */
const isRunnable = `
  r.account_id = ${account} and r.state in ${claimable} and r.pool = 'host'
  and r.not_before <= ${now} and r.kind = any(${kinds}) and not (${device} = any(r.refused_by))
  and (r.kind <> 'shell' or exists (
    select 1 from schedules.approval_view a
    where a.schedule_id = r.schedule_id and a.device_id = ${device} and a.command_hash = r.command_hash))
  and ${isNext(now)}`;

const claimingForHost = claiming(
  device,
  now,
  leaseUntil,
  '*, (select i.ignore from schedules.ignored_view i where i.schedule_id = claimed.schedule_id) as ignore',
);

const takeForHost = (lock: string): string => `
  with next as (
    select r.id from scheduler.runs r
    where (r.target_type = 'any'
        or (r.target_type = 'host' and r.target_id = ${device})
        or (r.target_type = 'tags' and r.target_tags <@ ${tags})
        or (r.target_type = 'cloud_vm' and exists (
          select 1 from environments.daemons_view d
          where d.account_id = ${account} and d.device_id = ${device} and d.project_id = r.target_id and d.is_there)))
      and ${isRunnable}
    order by r.scheduled_for, r.id limit 1
    for update of r ${lock}
  )
  ${claimingForHost}`;
const takeFree = statement<HostRun>(takeForHost('skip locked'));
const takePatiently = statement<HostRun>(takeForHost(''));

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
): Promise<HostRun | undefined> {
  const [row] = await (patient ? takePatiently : takeFree)(db, ...valuesOf(accountId, host, claim));
  return row;
}

const takeFailover = statement<HostRun>(`
  with online as materialized (
    select device_id, coalesce(tags, reported_tags) as tags from scheduler.hosts
    where account_id = ${account} and last_seen > ${now} - interval '45 s'
  ),
  next as (
    select r.id from scheduler.runs r
    where r.failover is not null
      and not exists (select 1 from online o
        where (r.target_type = 'host' and o.device_id = r.target_id)
          or (r.target_type = 'tags' and o.tags @> r.target_tags))
      and ${tags} @> (
        select array(select json_array_elements_text(s.wanted))
        from json_array_elements(r.failover) with ordinality s(wanted, rank)
        where exists (select 1 from online o where o.tags @> array(select json_array_elements_text(s.wanted)))
        order by s.rank limit 1)
      and ${isRunnable}
    order by r.scheduled_for, r.id limit 1
    for update of r skip locked
  )
  ${claimingForHost}`);

/**
 * Takes a run whose target is not there: its failover sets are tried in order, and the first one of which a machine was
 * seen in the last 45 s is this machine's. The machines that are there are read once, not for each run.
 */
export async function claimFailover(
  db: Db,
  accountId: string,
  host: ClaimingHost,
  claim: Claim,
): Promise<HostRun | undefined> {
  const [row] = await takeFailover(db, ...valuesOf(accountId, host, claim));
  return row;
}

const isWaiting = `state in ${claimable} and pool = 'cloud' and account_id >= ${leastId}`;
const takeForCloud = statement<RunRow>(`
  with recursive accounts as (
    (select account_id from scheduler.runs where ${isWaiting} order by account_id limit 1)
    union all
    select (select w.account_id from scheduler.runs w
        where ${isWaiting} and w.account_id > a.account_id order by w.account_id limit 1)
      from accounts a where a.account_id is not null
  ),
  taken as (
    select * from unnest($1::uuid[], $2::int[]) as t(account_id, places)
  ),
  dealt as (
    select w.id from accounts a join accounts.standing_view v on v.id = a.account_id and v.may_run
      left join taken t on t.account_id = a.account_id cross join lateral (
      select r.id, r.scheduled_for, coalesce(t.places, 0) + row_number() over (order by r.scheduled_for, r.id) as turn
      from scheduler.runs r
      where r.account_id = a.account_id and r.state in ${claimable} and r.pool = 'cloud'
        and r.kind = any($3::text[]) and r.not_before <= $4::timestamptz and ${isNext('$4::timestamptz')}
      order by r.scheduled_for, r.id limit $5::int
    ) w
    where w.turn <= $5::int
    order by w.turn, w.scheduled_for, w.id limit $6::int
  ),
  next as (
    select r.id from scheduler.runs r
    where r.id = any(array(select id from dealt)) and r.state in ${claimable} for update of r skip locked
  )
  ${claiming('$7::uuid', '$4::timestamptz', '$8::timestamptz')}`);

/**
 * Takes runs of the cloud of these kinds; chains run by themselves. They are dealt by account in turn: the first of each
 * account that has none, then the second, as far as the places go. The accounts are found by the index, one step each;
 * one that may not run anything gets none.
 */
export const claimForCloud = (db: Db, ofKinds: string[], deal: Deal, claim: Claim): Promise<RunRow[]> =>
  takeForCloud(
    db,
    [...deal.taken.keys()],
    [...deal.taken.values()],
    ofKinds,
    claim.now,
    deal.ofOne,
    deal.total,
    claim.holderId,
    claim.leaseUntil,
  );

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
      and r.state in ${renewable(db)} and r.lease_expires_at > ${values.now}
    returning ${runColumns(db)}`;
  return row;
}

/** An attempt whose process is gone, as its holder says; a holder that names no device is known by the attempt. */
export interface EndedAttempt {
  id: string;
  attempt: number;
  holderId: string | undefined;
  logTail?: string | undefined;
  /** Of this attempt alone. */
  costMicroUsd?: number | undefined;
  endedProcesses?: number | undefined;
}

/** Notes that the process of an ended attempt is gone; undefined when nothing waits for that. No state moves. */
export async function confirmEnd(db: Db, ended: EndedAttempt): Promise<RunRow | undefined> {
  const { id, attempt, holderId, logTail = null, costMicroUsd = null, endedProcesses = null } = ended;
  const isEnding =
    holderId === undefined
      ? db`r.ending like ${fencePattern(attempt)}`
      : db`r.ending = ${fenceText({ attempt, holderId })}`;
  const [row] = await db<RunRow[]>`
    with kept as (
      update scheduler.attempts set ended_processes = ${endedProcesses}::int
      where run_id = ${id} and attempt = ${attempt} and ${endedProcesses}::int is not null
        and exists (select from scheduler.runs as r where r.id = ${id} and ${isEnding})
    )
    update scheduler.runs as r set ending = null, ending_until = null, answers = array_append(r.answers, r.ending),
      log_tail = coalesce(${logTail}, r.log_tail), ended_processes = coalesce(${endedProcesses}::int, r.ended_processes),
      cost_micro_usd = greatest(r.cost_micro_usd, r.cost_before_micro_usd + coalesce(${costMicroUsd}::bigint, 0))
    where r.id = ${id} and ${isEnding}
    returning ${runColumns(db)}`;
  return row;
}
