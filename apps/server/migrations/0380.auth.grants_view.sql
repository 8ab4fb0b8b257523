-- additive
-- Why: a person sees when an app that they connected is signed out unless it is used.
create view auth.grants_view as
  select account_id, client_id, max(expires_at) as ends_at from auth.records
  where model = 'RefreshToken' and consumed_at is null and expires_at > now()
  group by account_id, client_id;
