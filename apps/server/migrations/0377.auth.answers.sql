-- additive
-- Why: processes of one app share a refresh token, and answers get lost on the way: who uses a token or a device code again
-- within a short time gets the same answer again.
alter table auth.records
  -- The answer for which a token or a device code was used, sealed.
  add column answer bytea,
  -- It is given again until then; null: there is none.
  add column answer_until timestamptz;
