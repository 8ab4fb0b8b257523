create schema scheduler;

create table scheduler.runs (
  id uuid primary key default gen_random_uuid(),
  -- Order of creation: runs of one instant have one created_at.
  ordinal bigint not null generated always as identity,
  account_id uuid not null,
  schedule_id uuid not null,
  scheduled_for timestamptz not null,
  -- slot | catch_up | manual | event | after | chain
  origin text not null,
  state text not null,
  attempt int not null default 1,
  created_at timestamptz not null,
  -- Not claimable before; moved by retries.
  not_before timestamptz not null,

  -- What the schedule says, copied so that a claim reads one table; an edit of the schedule rewrites waiting runs.
  name text not null,
  kind text not null,
  spec json not null,
  -- host | cloud
  pool text not null,
  target_type text not null,
  target_id uuid,
  target_tags text[],
  failover json,
  command_hash text,
  overlap text not null,
  timeout_s int not null,
  retries int not null,
  retry_backoff_s int not null,
  budget_micro_usd bigint,
  -- When to say that nobody started it; null: never, or said.
  late_at timestamptz,

  -- Who holds it: a device, or a gateway for runs of the cloud.
  holder_id uuid,
  lease_expires_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  retries_used int not null default 0,
  leases_lost int not null default 0,
  exit_code bigint,
  -- Of earlier attempts, and of all.
  cost_before_micro_usd bigint not null default 0,
  cost_micro_usd bigint not null default 0,
  log_tail text,
  session_id uuid,
  error text,
  -- Results that were accepted, `<attempt>:<holder>`, so that repeating one is answered alike.
  answers text[] not null default '{}',
  parent_run_id uuid,
  chain_step int
);
-- A slot becomes a run once, whatever number of tickers saw it.
create unique index runs_slot on scheduler.runs (schedule_id, scheduled_for) where origin in ('slot', 'catch_up');
-- Two runs of one schedule never run at the same time.
create unique index runs_running on scheduler.runs (schedule_id) where state = 'running';
create index runs_active on scheduler.runs (schedule_id) where state in ('pending', 'awaiting_approval', 'running');
create index runs_claimable on scheduler.runs (account_id, scheduled_for, id) where state = 'pending' and pool = 'host';
create index runs_failover on scheduler.runs (account_id, scheduled_for, id)
  where state = 'pending' and pool = 'host' and failover is not null;
create index runs_cloud on scheduler.runs (scheduled_for, id) where state = 'pending' and pool = 'cloud';
create index runs_chains on scheduler.runs (created_at) where kind = 'chain' and state in ('pending', 'running');
create index runs_lease on scheduler.runs (lease_expires_at) where state = 'running';
create index runs_waiting on scheduler.runs (created_at) where state in ('pending', 'awaiting_approval');
create index runs_late on scheduler.runs (late_at) where state = 'pending' and late_at is not null;
create index runs_held on scheduler.runs (holder_id) where state = 'running';
create index runs_parent on scheduler.runs (parent_run_id) where parent_run_id is not null;
create index runs_of_account on scheduler.runs (account_id, ordinal desc);
create index runs_of_schedule on scheduler.runs (schedule_id, ordinal desc);

-- Machines that claim. `tags` and `name` that a person set win over what the machine reports.
create table scheduler.hosts (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  device_id uuid not null,
  name text,
  tags text[],
  reported_tags text[] not null default '{}',
  kinds text[] not null,
  paused boolean not null default false,
  max_parallel int,
  last_seen timestamptz not null,
  unique (account_id, device_id)
);
