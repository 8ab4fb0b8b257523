-- An attempt that was ended while its holder may still run it: `<attempt>:<holder>`, and until when its process may live.
-- No other run of the schedule is claimed before that instant, unless the holder says earlier that its process is gone.
alter table scheduler.runs
  add column ending text,
  add column ending_until timestamptz;
create index runs_ending on scheduler.runs (schedule_id) where ending_until is not null;
