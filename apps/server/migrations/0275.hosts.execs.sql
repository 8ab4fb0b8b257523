-- Why: a command waits for a machine that is away, and one that nobody waits for is done by the machine itself. The row proves
-- that it starts at most once, and tells what became of it.
alter table hosts.presence add column detached boolean not null default false;

create table hosts.execs (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  device_id uuid not null,
  -- The order in which the commands of a machine start.
  order_no bigint generated always as identity,
  -- The key that gave it, whose rights it has, and the device that asked.
  key_id uuid not null,
  from_device_id uuid,
  op text not null,
  state text not null,
  -- What the machine is told, sealed; null once it started, or never will.
  frame bytea,
  -- The stream that it was written to last.
  sent_epoch bigint,
  -- Of the token that the machine started it with.
  token_hash bytea,
  ok boolean,
  -- JSON as text: it may hold escapes that jsonb refuses.
  result text,
  error text,
  exit_code int,
  output_bytes bigint not null default 0,
  truncated boolean not null default false,
  kept_bytes bigint not null generated always as
    (coalesce(octet_length(frame), 0) + coalesce(octet_length(result), 0) + output_bytes) stored,
  created_at timestamptz not null,
  sent_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  cancel_asked_at timestamptz,
  -- When somebody who follows its output was there last.
  seen_at timestamptz,
  expires_at timestamptz not null
);
create index execs_list on hosts.execs (account_id, created_at desc, id desc) include (kept_bytes);
create index execs_live on hosts.execs (account_id, device_id, order_no) where finished_at is null;
create index execs_created on hosts.execs (created_at);

create table hosts.exec_parts (
  exec_id uuid not null references hosts.execs on delete cascade,
  at bigint not null,
  body bytea not null,
  primary key (exec_id, at)
);
