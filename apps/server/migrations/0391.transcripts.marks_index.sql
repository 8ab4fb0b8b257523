-- additive, concurrently
-- Why: as 0390.transcripts.marks.sql.
create index concurrently names_marks on transcripts.names using gin (transcripts.name_marks(account_id, name));
