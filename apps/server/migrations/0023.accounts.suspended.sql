-- Why: an account that may not go on kept its schedules, sandboxes and previews running. `may_run` says whether anything
-- of an account may run, wake or listen.
alter table accounts.accounts add column suspended_at timestamptz;
create or replace view accounts.standing_view as
  select id, subscription, features, tool_level, suspended_at is not null as suspended,
    subscription = 'active' and suspended_at is null as may_run
  from accounts.accounts;
