-- additive, concurrently
-- Why: as 0483.keys.grants.sql; the keys of a grant are looked for when it turns out stolen.
create index concurrently keys_grant on keys.keys (account_id, grant_id) where grant_id is not null;
