-- additive
-- The language of the account when the recording was made: the title of one without a title is in it. Unset: English.
alter table transcripts.transcripts add column locale text;
