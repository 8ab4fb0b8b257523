-- additive
-- Why: a push service says that it took a push; whether the browser ever got it was known to nobody. Its service worker says so.
alter table notifications.subscriptions
  add column delivered_at timestamptz,
  -- The notification that came then: a repeat changes nothing.
  add column delivered_id uuid;
create or replace view notifications.told_view as
  select s.* from notifications.subscriptions s
  where s.login_id is null or not exists (select from auth.revoked_view r where r.id = s.login_id);
