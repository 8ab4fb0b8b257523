-- Why: what runs later runs with the rights of the key that asked for it, and ends with it.
alter table schedules.schedules add column key_id uuid;
comment on column schedules.schedules.key_id is 'the key that saved what runs; null: saved by a version before 0200';
-- Made when nobody asked who made them: they go on with the first key of the account that may do everything.
update schedules.schedules s set key_id = (
  select k.id from keys.keys k join keys.usable_view u on u.id = k.id
  where k.account_id = s.account_id and '*' = any(k.scopes) order by k.created_at, k.id limit 1);
