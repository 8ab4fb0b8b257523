-- Why: the first page shows runs that wait for a person, that run, and that failed a short while ago, out of 200,000.
create index runs_needed on scheduler.runs (account_id, state) where state in ('awaiting_approval', 'running');
create index runs_failed on scheduler.runs (account_id, finished_at desc)
  where state in ('failed', 'timed_out', 'expired');
