create schema heartbeats;

create table heartbeats.monitors (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  name text not null,
  period_s int not null,
  grace_s int not null,
  tz text,
  -- HMAC-SHA-256 of the token under the master key; the token itself is stored nowhere.
  token_hash bytea not null unique,
  -- `late` is not stored: it is up, and past its period.
  status text not null default 'new' check (status in ('new', 'up', 'down', 'paused')),
  -- How often it went down: what an alert is known by.
  outage int not null default 0,
  -- Rows written to `pings`.
  ping_seq bigint not null default 0,
  -- Created, or resumed.
  armed_at timestamptz not null,
  last_success_at timestamptz,
  last_ping_at timestamptz,
  last_start_at timestamptz,
  last_exit_code int,
  -- A start without its success.
  started_at timestamptz,
  start_rid uuid,
  -- When it goes down by itself; null while it is down or paused.
  deadline timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index monitors_account on heartbeats.monitors (account_id, created_at);
create index monitors_deadline on heartbeats.monitors (deadline) where deadline is not null;

-- The last 100 of each monitor, and up to 20 more until they are trimmed.
create table heartbeats.pings (
  monitor_id uuid not null references heartbeats.monitors (id) on delete cascade,
  seq bigint not null,
  at timestamptz not null,
  kind text not null check (kind in ('success', 'start', 'fail', 'log', 'exit')),
  exit_code int,
  rid uuid,
  body bytea,
  -- Identical successes that came together are one row.
  count int not null,
  primary key (monitor_id, seq)
);
