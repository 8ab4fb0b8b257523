-- additive, concurrently
-- Why: as 0372.scheduler.partial.sql: an upload that is asked for by its id read all that are under way.
create index concurrently uploads_of_account on uploads.uploads (account_id) include (length)
  where transcript_id is null and account_id is not null;
drop index concurrently uploads.uploads_account;
