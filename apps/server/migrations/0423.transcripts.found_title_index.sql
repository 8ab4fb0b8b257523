-- additive, concurrently
-- Why: read by `overview.find`, which then reads no row.
create index concurrently transcripts_titles on transcripts.transcripts (account_id, found_title, id);
