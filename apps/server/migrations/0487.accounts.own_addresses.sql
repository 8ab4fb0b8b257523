-- additive
-- Why: an address that somebody gave to their own account, and nobody proved, kept its owner from an account here. `email_before`
-- is the address that an operator, or a mail, gave it last: it has that one again when an operator gives the other one away.
-- Addresses from before this release count as given: who gave them is not known.
alter table accounts.accounts
  add column email_is_own boolean not null default false,
  add column email_before text;
