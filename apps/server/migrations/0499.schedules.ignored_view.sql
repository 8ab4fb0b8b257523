-- additive
-- Why: a claim hands out what of a schedule's output is no change, in the statement that takes the run.
create view schedules.ignored_view as select id as schedule_id, ignore from schedules.schedules where ignore is not null;
