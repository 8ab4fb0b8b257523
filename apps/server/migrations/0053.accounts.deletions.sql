-- Why: nothing deleted an account. A row here stands from the moment that its deletion began until a day after its end: a
-- deletion that was interrupted goes on, and what a request wrote that was under way then is found.
create table accounts.deletions (
  account_id uuid primary key,
  -- Null once it is done.
  email text,
  began_at timestamptz not null default now(),
  -- When somebody worked on it last.
  tried_at timestamptz not null default now(),
  done_at timestamptz,
  -- What was deleted so far, by kind.
  deleted json not null default '{}'
);

create or replace view accounts.standing_view as
  select id, subscription, features, tool_level, suspended_at is not null as suspended,
    subscription = 'active' and suspended_at is null as may_run,
    exists (select 1 from accounts.deletions d where d.account_id = a.id) as deleting
  from accounts.accounts a;
