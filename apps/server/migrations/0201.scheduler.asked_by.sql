-- Why: a run acts for the key that asked for it (`key_id`): of a slot the one that saved its schedule, of a run by hand the
-- caller's, of a step its chain's. `made_by` is the key that saved the work which the run carries.
alter table scheduler.runs add column key_id uuid, add column made_by uuid;
update scheduler.runs r set key_id = s.key_id, made_by = s.key_id
  from schedules.schedules s where s.id = r.schedule_id and r.state in ('pending', 'awaiting_approval', 'running');
-- Keys with runs are found one step each, and then those that ended.
create index runs_key on scheduler.runs (key_id) where state in ('pending', 'awaiting_approval', 'running');
