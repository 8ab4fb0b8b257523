-- additive
-- Why: a stolen token ended every token of its grant when it was used again, and left the API keys that were made
-- with them.
-- The grant of the identity provider whose token asked for a key of an app.
alter table keys.keys add column grant_id text;
-- Grants that are there: a key that is being made for a token of one sees that it ended meanwhile.
create view auth.granted_view as select grant_id from auth.records where model = 'Grant';
