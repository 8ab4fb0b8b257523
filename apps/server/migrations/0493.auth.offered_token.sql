-- additive
-- Why: a browser that signs out all others gets a new text for its own cookie, so that a copy of the former one
-- ends with them.
alter table auth.logins add column offered_hash bytea, add column offered_at timestamptz;
