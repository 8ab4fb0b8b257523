-- additive, concurrently
-- Why: as 0493.auth.offered_token.sql; a text that is not found by its hash may be one that was offered.
create unique index concurrently logins_offered on auth.logins (offered_hash) where offered_hash is not null;
