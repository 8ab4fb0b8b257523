-- Why: a prompt that launches itself does so for the key that asked for it, and a launch ends with the key that made it.
alter table prompts.prompts add column key_id uuid;
comment on column prompts.prompts.key_id is 'the key that said last how it launches; null: said to a version before 0250';
update prompts.prompts p set key_id = (
  select k.id from keys.keys k join keys.usable_view u on u.id = k.id
  where k.account_id = p.account_id and '*' = any(k.scopes) order by k.created_at, k.id limit 1)
  where p.auto_run;
-- A launch whose key has ended was handled: what runs of it was asked to stop.
alter table prompts.runs add column stop_asked_at timestamptz;
create index runs_key on prompts.runs (key_id) where ended_at is null and stop_asked_at is null;
