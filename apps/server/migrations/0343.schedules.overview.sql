-- Why: the first page shows what runs next of an account, out of all its schedules.
create index schedules_next on schedules.schedules (account_id, next_run_at) where next_run_at is not null;
