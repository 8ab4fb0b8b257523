-- additive, concurrently
-- Why: as 0372.scheduler.partial.sql: the look for launches whose key has ended read all that ever were.
create index concurrently runs_asked_by on prompts.runs (key_id)
  where ended_at is null and stop_asked_at is null and key_id is not null;
drop index concurrently prompts.runs_key;
