import type { Invariant } from './invariant.ts';

/** Runs of schedules, commands of hosts, monitors. */
export const hostInvariants: readonly Invariant[] = [
  {
    says: 'a run that runs has a holder and a lease, or is a chain',
    sql: `select id, kind, holder_id, lease_expires_at from scheduler.runs
      where state = 'running' and kind <> 'chain' and (holder_id is null or lease_expires_at is null)`,
  },
  {
    says: 'a run that does not run has no lease',
    sql: `select id, state from scheduler.runs where state <> 'running' and lease_expires_at is not null`,
  },
  {
    says: 'a run is over when it has an instant of its end, and then its spec is forgotten',
    sql: `select id, state, finished_at from scheduler.runs
      where (finished_at is null) <> (state in ('pending', 'awaiting_approval', 'running'))
        or (finished_at is not null and (spec::text <> '{}' or sealed_headers is not null))`,
  },
  {
    says: 'a run that is not over has its schedule',
    sql: `select id, state from scheduler.runs r
      where finished_at is null and not exists (select from schedules.schedules s where s.id = r.schedule_id)`,
  },
  {
    says: 'a long spec stands as long as a run needs it',
    sql: `select id from scheduler.runs r where finished_at is null and spec_hash is not null and not exists
      (select from scheduler.specs s where s.schedule_id = r.schedule_id and s.hash = r.spec_hash)`,
  },
  {
    says: 'no slot that is still to come has a run already',
    sql: `select s.id, s.next_run_at, r.scheduled_for from schedules.schedules s
      join scheduler.runs r on r.schedule_id = s.id and r.origin in ('slot', 'catch_up')
      where r.scheduled_for >= s.next_run_at`,
  },
  {
    // What was missed goes one after the other.
    says: 'a schedule whose runs do not overlap has one that is active at most, beside what it catches up with',
    sql: `select schedule_id, count(*) from scheduler.runs
      where finished_at is null and overlap = 'skip' and parent_run_id is null and origin <> 'catch_up' group by 1 having count(*) > 1`,
  },
  {
    says: 'no attempt is kept of a run that is beyond the one that it is in',
    sql: `select a.run_id, a.attempt, r.attempt as at from scheduler.attempts a join scheduler.runs r on r.id = a.run_id
      where a.attempt > r.attempt or (a.attempt = r.attempt and r.finished_at is null)`,
  },
  {
    says: 'an attempt that a host or the cloud reported is kept',
    sql: `select id, attempt, state from scheduler.runs r
      where state in ('succeeded', 'timed_out') and started_at is not null and kind <> 'chain' and origin <> 'native'
        and not exists (select from scheduler.attempts a where a.run_id = r.id and a.attempt = r.attempt)`,
  },
  {
    says: 'an end that is waited for has an instant at which nobody waits any more',
    sql: `select id from scheduler.runs where (ending is null) <> (ending_until is null)`,
  },
  {
    says: 'a log has as many bytes as its parts and its blob',
    sql: `select l.run_id, l.bytes, l.stored_bytes from scheduler.logs l
      where l.bytes <> l.stored_bytes + coalesce((select sum(length(p.body)) from scheduler.log_parts p
        where p.run_id = l.run_id and p.at >= l.stored_bytes), 0)`,
  },
  {
    says: 'a log has its run',
    sql: `select run_id from scheduler.logs l where not exists (select from scheduler.runs r where r.id = l.run_id)`,
  },
  {
    says: 'the bytes of a schedule are counted as they are',
    sql: `select id, spec_bytes, octet_length(spec::text) from schedules.schedules
      where spec_bytes <> octet_length(spec::text) + coalesce(octet_length(sealed_headers), 0)`,
  },
  {
    says: 'a command has as many bytes of output as its parts',
    sql: `select id, output_bytes from hosts.execs e where not truncated and output_bytes <>
      coalesce((select sum(length(p.body)) from hosts.exec_parts p where p.exec_id = e.id), 0)`,
  },
  {
    says: 'a command has what its state says: sent, started, finished, and no frame once it is over',
    sql: `select id, state from hosts.execs where
      (state = 'waiting' and sent_at is not null) or (state = 'sent' and sent_at is null)
      or (state = 'running' and (started_at is null or token_hash is null or frame is not null))
      or ((finished_at is not null) <> (state in ('done', 'expired', 'cancelled', 'unknown')))
      or (finished_at is not null and frame is not null)`,
  },
  {
    says: 'pings of a monitor are numbered to the last',
    sql: `select id, ping_seq from heartbeats.monitors m
      where ping_seq <> coalesce((select max(seq) from heartbeats.pings p where p.monitor_id = m.id), ping_seq)`,
  },
  {
    says: 'the last flip of a monitor is into the state that it has, and is numbered to the last',
    sql: `select m.id, m.status, f.became, m.flip_seq, f.seq from heartbeats.monitors m
      join heartbeats.flips f on f.monitor_id = m.id
        and f.seq = (select max(seq) from heartbeats.flips g where g.monitor_id = m.id)
      where f.seq <> m.flip_seq or f.became <> m.status`,
  },
  {
    says: 'a monitor is down since an instant, and a pause has an end in a pause only',
    sql: `select id, status from heartbeats.monitors
      where (status = 'down' and down_since is null) or (status <> 'paused' and paused_until is not null)`,
  },
];
