-- additive, concurrently
-- Why: as 0372.scheduler.partial.sql: a step that is asked for by its id read all that run, and those that are dealt all that
-- wait, where statistics said that none does.
create index concurrently steps_waiting on transcripts.steps (kind, due_at) where state = 'waiting' and due_at is not null;
create index concurrently steps_leased on transcripts.steps (lease_until) where state = 'running' and lease_until is not null;
drop index concurrently transcripts.steps_due;
drop index concurrently transcripts.steps_running;
