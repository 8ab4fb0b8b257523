create schema schedules;

create table schedules.schedules (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  name text not null,
  description text,
  enabled boolean not null,
  kind text not null,
  spec json not null,
  trigger json not null,
  -- Of event and after triggers; else null.
  event_id text,
  after_id uuid,
  target json,
  -- What has defaults by kind stays null until it is set, so that a change of kind changes them.
  failover json,
  native boolean,
  policy json,
  misfire text,
  misfire_window_min int,
  overlap text,
  timeout_s int,
  retries int,
  retry_backoff_s int,
  late_after_s int,
  alert_on_fail boolean,
  notify text,
  template text,
  command_hash text,
  -- Intervals count from here.
  anchor_at timestamptz not null,
  -- The next slots, skipped days out: the ticker takes from the front and refills when few are left, so that most ticks
  -- compute no calendar. `next_run_at` is the first; null when disabled, not timed or exhausted.
  slots timestamptz[] not null default '{}',
  next_run_at timestamptz,
  last_run_at timestamptz,
  -- Last slot that fell into the account's pause: what a resume with backfill catches up.
  missed_slot timestamptz,
  failures int not null default 0,
  last_output_hash text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index schedules_account on schedules.schedules (account_id, created_at, id);
create index schedules_due on schedules.schedules (next_run_at) where next_run_at is not null;
create index schedules_event on schedules.schedules (account_id, event_id) where event_id is not null;
create index schedules_after on schedules.schedules (after_id) where after_id is not null;

-- Commands that a device may run. An edit of the command deletes them.
create table schedules.approvals (
  schedule_id uuid not null references schedules.schedules on delete cascade,
  device_id uuid not null,
  command_hash text not null,
  approved_at timestamptz not null,
  primary key (schedule_id, device_id)
);
create view schedules.approval_view as select schedule_id, device_id, command_hash from schedules.approvals;

-- Accounts whose schedules make no runs.
create table schedules.pauses (
  account_id uuid primary key,
  paused_at timestamptz not null,
  until timestamptz,
  resume_policy text not null
);
create index pauses_until on schedules.pauses (until) where until is not null;
