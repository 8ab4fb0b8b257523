-- What a run wrote, whole, of all its attempts one after the other. The end of it waits in parts; a job makes one blob of
-- them, `schedule-logs/<account>/<run>`, which holds the first `stored_bytes`.
create table scheduler.logs (
  run_id uuid primary key,
  account_id uuid not null,
  bytes bigint not null default 0,
  stored_bytes bigint not null default 0,
  -- The attempt that wrote last, and where its part begins.
  attempt int not null,
  attempt_at bigint not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index logs_account on scheduler.logs (account_id) include (bytes);
create index logs_created on scheduler.logs (created_at);
create index logs_loose on scheduler.logs (updated_at) where bytes > stored_bytes;

create table scheduler.log_parts (
  run_id uuid not null references scheduler.logs on delete cascade,
  at bigint not null,
  body bytea not null,
  primary key (run_id, at)
);
