-- A control may be taken back: its device begins nothing of it any more. One without a target waits for the account's next
-- desktop or Android device that listens.
alter table sessions.controls alter column target_device_id drop not null;
alter table sessions.controls add column withdrawn_at timestamptz;
drop index sessions.controls_waiting;
create index controls_waiting on sessions.controls (account_id, target_device_id, order_no)
  where acked_at is null and withdrawn_at is null;
