-- Sessions that the devices of an account share: logs that only grow, with one device at a time that writes (design: prompts).
create schema sessions;
create table sessions.sessions (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  title text,
  -- As it was given; jsonb takes no escaped NUL.
  metadata json,
  seq bigint not null default 0,
  -- What its events take, for the quota.
  bytes bigint not null default 0,
  -- Who writes, or wrote last; it holds the lease until `lease_until`.
  writer_id uuid,
  lease_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index sessions_of_account on sessions.sessions (account_id, created_at, id);

create table sessions.events (
  session_id uuid not null references sessions.sessions on delete cascade,
  seq bigint not null,
  type text not null,
  turn_id text not null,
  event_id text,
  role text,
  text text,
  data json,
  device_id uuid not null,
  at timestamptz not null,
  primary key (session_id, seq)
);
create unique index events_of_turn on sessions.events (session_id, turn_id, type) where type in ('turn_start', 'turn_end');
create unique index events_by_id on sessions.events (session_id, event_id) where event_id is not null;

create table sessions.controls (
  id uuid primary key default gen_random_uuid(),
  order_no bigint generated always as identity,
  session_id uuid not null references sessions.sessions on delete cascade,
  account_id uuid not null,
  type text not null,
  text text,
  target_device_id uuid not null,
  from_device_id uuid,
  created_at timestamptz not null,
  acked_at timestamptz
);
create index controls_waiting on sessions.controls (account_id, target_device_id, order_no) where acked_at is null;
create index controls_of_session on sessions.controls (session_id, order_no);

-- Turns that were reported and that other features have not been told of yet.
create table sessions.turns (
  session_id uuid not null references sessions.sessions on delete cascade,
  seq bigint not null,
  account_id uuid not null,
  due_at timestamptz not null,
  attempts int not null default 0,
  primary key (session_id, seq)
);
create index turns_due on sessions.turns (account_id, due_at, session_id, seq);
