-- additive, concurrently
-- Why: auth.sweepRecords finds the answers whose time is over.
create index concurrently records_answers on auth.records (answer_until) where answer_until is not null;
