create schema metering;

-- Time that counts: commands (exec), v2 sandboxes that run (running), and snapshots that are kept (paused).
create table metering.spans (
  id uuid primary key,
  account_id uuid not null,
  sandbox_id uuid not null,
  -- exec_v1 | exec_v2 | running | paused
  kind text not null,
  -- Of a snapshot.
  bytes bigint not null default 0,
  started_at timestamptz not null,
  ended_at timestamptz
);
create index spans_account on metering.spans (account_id, ended_at);
create index spans_open on metering.spans (sandbox_id) where ended_at is null;

-- Seconds of commands by UTC day, for the daily limit; those of open spans come on top.
create table metering.days (
  account_id uuid not null,
  day date not null,
  exec_ms bigint not null,
  primary key (account_id, day)
);

-- How far each account's time is settled.
create table metering.accounts (
  account_id uuid primary key,
  settled_until timestamptz not null
);

-- What was settled: one row for each ten minutes in which something counted.
create table metering.buckets (
  account_id uuid not null,
  starts_at timestamptz not null,
  v1_ms bigint not null,
  v2_ms bigint not null,
  paused_byte_ms numeric not null,
  charge_micro_eur bigint not null,
  -- Null: the wallet did not hold enough.
  paid_at timestamptz,
  primary key (account_id, starts_at)
);
create index buckets_unpaid on metering.buckets (account_id) where paid_at is null;
