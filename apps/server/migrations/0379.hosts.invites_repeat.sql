-- additive
-- Why: a machine that lost the answer to its code could not ask again, and a further code was refused: its device had a key.
alter table hosts.invites
  -- The device that used it; null: nobody did.
  add column used_by uuid,
  -- The key that it made.
  add column made_key uuid,
  -- The answer, sealed, which the same device gets again until the code ends.
  add column answer bytea;
