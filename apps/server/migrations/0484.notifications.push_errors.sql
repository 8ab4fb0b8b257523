-- additive
-- Why: a push service that refused what it was sent was known to the log alone: the person saw a browser that is told.
alter table notifications.subscriptions
  add column last_error_at timestamptz,
  add column last_error_status int,
  add column last_error_reason text;
create or replace view notifications.told_view as
  select s.* from notifications.subscriptions s
  where s.login_id is null or not exists (select from auth.revoked_view r where r.id = s.login_id);
