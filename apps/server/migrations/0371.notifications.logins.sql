-- Why: a phone that was lost was signed out, and its notifications went on to tell everything.
-- The login whose browser subscribed; null: a key subscribed it, or a release before this one.
alter table notifications.subscriptions add column login_id uuid;

-- Browsers that are told: the others' people signed out of them.
create view notifications.told_view as
  select s.* from notifications.subscriptions s
  where s.login_id is null or not exists (select from auth.revoked_view r where r.id = s.login_id);
