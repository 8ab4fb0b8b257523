-- Why: what a browser of a login asked for, such as pushes, ends with the login when a person ends it.
-- Logins that were signed out or revoked. One that ended by itself, unseen for 30 days, is none of them.
create view auth.revoked_view as
  select id from auth.logins where revoked_at is not null;
