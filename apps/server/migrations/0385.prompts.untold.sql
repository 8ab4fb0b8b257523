-- additive, concurrently
-- Why: launches that wait are looked for every ten seconds.
create index concurrently runs_untold on prompts.runs (created_at)
  where ended_at is null and waiting_told_at is null and created_at is not null;
