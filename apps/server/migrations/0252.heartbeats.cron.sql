-- Why: a job that runs by a cron expression is late by its instants, not by seconds since its last success.
-- A gateway of the version before goes by `period_s`, which then holds the seconds between the next two instants.
alter table heartbeats.monitors
  add column cron text,
  -- With `cron`: by when a success is expected.
  add column expected_at timestamptz;
