-- additive
-- Why: as 0424, of those that were cut.
update transcripts.transcripts set found_title = left(coalesce(title, insights->>'title', ''), 300)
where length(found_title) = 200;
