-- additive
-- Why: what an owner knows to differ from run to run told of a change each time; its patterns stand with the schedule.
alter table schedules.schedules add column ignore text[];
