-- additive
-- Why: an approval that was decided went on to count as unread and to offer Approve. `cause` names what a notification waits for
-- the end of; null: nothing ends it, or a release before this one told it.
alter table notifications.notifications
  add column cause text,
  add column resolved_at timestamptz,
  add column resolution text,
  -- Whether pushes of it go by the account's rules: those are to be withdrawn.
  add column pushed boolean not null default false;
