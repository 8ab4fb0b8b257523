-- additive
-- Why: as 0421; titles have 300 characters.
create or replace function transcripts.note_title() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.found_title := left(coalesce(new.title, new.insights->>'title', ''), 300);
  return new;
end $$;
