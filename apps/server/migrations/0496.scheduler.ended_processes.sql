-- additive
-- Why: what a command of a schedule leaves in the background stays when it ends; where a limit or a person ends it, the run says
-- how many processes went with it, as the answer of a host's shell does.
alter table scheduler.runs add column ended_processes int;
