-- additive
-- Why: as 0421; what was recorded before has a title too.
update transcripts.transcripts set found_title = left(coalesce(title, insights->>'title', ''), 200)
where found_title is null;
