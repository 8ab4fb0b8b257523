-- Why: a run told how its last attempt went, and nothing of those before it. One row an attempt that ended, the last ten of a
-- run; the one under way is the row of the run.
create table scheduler.attempts (
  run_id uuid not null references scheduler.runs on delete cascade,
  attempt int not null,
  -- Null: it ran in the cloud.
  device_id uuid,
  -- As the contract names them; no state of a machine.
  state text not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  -- Its first 500 characters.
  error text,
  primary key (run_id, attempt)
);

-- Lists of an account by state, host and time. Runs that wait, run or succeeded are left out of the first: a claim would write
-- it twice, and what succeeded is most of the account's runs.
create index runs_by_state on scheduler.runs (account_id, state, ordinal desc)
  where state not in ('pending', 'running', 'succeeded');
create index runs_of_device on scheduler.runs (
  account_id,
  (coalesce(holder_id::text, split_part(answers[array_upper(answers, 1)], ':', 2))),
  ordinal desc
) where pool = 'host';
create index runs_created on scheduler.runs (account_id, created_at);
