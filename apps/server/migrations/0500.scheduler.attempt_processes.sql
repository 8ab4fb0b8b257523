-- additive
-- Why: the next attempt of a run forgets how many processes ended with the one before.
alter table scheduler.attempts add column ended_processes int;
