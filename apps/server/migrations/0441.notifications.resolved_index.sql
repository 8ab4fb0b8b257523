-- additive, concurrently
-- Why: as 0440.notifications.resolved.sql; what a cause told is looked for when the cause ends.
create index concurrently notifications_unresolved on notifications.notifications (account_id, cause)
  where cause is not null and resolved_at is null and account_id is not null;
