-- additive, concurrently
-- Why: statistics that are made while nothing waits say that no run is active. Each partial index then costs nothing to read
-- whole, and a claim read `runs_key` for each run that waits: 266,000 pages at 2,000 of them. A query that says nothing of
-- the first column cannot use these, and is left with the index that was made for it. While the release before still runs, its
-- looks for runs of the cloud and for attempts past their time read the table.
create unique index concurrently runs_one_running on scheduler.runs (schedule_id)
  where state = 'running' and schedule_id is not null;
create index concurrently runs_under_way on scheduler.runs (schedule_id)
  where state in ('pending', 'awaiting_approval', 'running') and schedule_id is not null;
create index concurrently runs_for_hosts on scheduler.runs (account_id, scheduled_for, id)
  where state = 'pending' and pool = 'host' and account_id is not null;
create index concurrently runs_for_others on scheduler.runs (account_id, scheduled_for, id)
  where state = 'pending' and pool = 'host' and failover is not null and account_id is not null;
create index concurrently runs_for_cloud on scheduler.runs (account_id, scheduled_for, id)
  where state = 'pending' and pool = 'cloud' and account_id is not null;
create index concurrently runs_asked_by on scheduler.runs (key_id)
  where state in ('pending', 'awaiting_approval', 'running') and key_id is not null;
create index concurrently runs_unstarted on scheduler.runs (created_at)
  where state in ('pending', 'awaiting_approval') and created_at is not null;
create index concurrently runs_leased on scheduler.runs (lease_expires_at)
  where state = 'running' and lease_expires_at is not null;
create index concurrently runs_held_by on scheduler.runs (holder_id) where state = 'running' and holder_id is not null;
create index concurrently runs_needing on scheduler.runs (account_id, state)
  where state in ('awaiting_approval', 'running') and account_id is not null;
-- The steps of chains that are under way, out of all that ever were (`runs_parent`).
create index concurrently runs_steps on scheduler.runs (chain_step)
  where state in ('pending', 'awaiting_approval', 'running') and chain_step is not null;
drop index concurrently scheduler.runs_running;
drop index concurrently scheduler.runs_active;
drop index concurrently scheduler.runs_claimable;
drop index concurrently scheduler.runs_failover;
drop index concurrently scheduler.runs_cloud;
drop index concurrently scheduler.runs_cloud_of_account;
drop index concurrently scheduler.runs_key;
drop index concurrently scheduler.runs_waiting;
drop index concurrently scheduler.runs_lease;
drop index concurrently scheduler.runs_held;
drop index concurrently scheduler.runs_needed;
