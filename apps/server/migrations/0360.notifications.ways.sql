-- Why: a person says which notifications reach them, by which way and when; and a browser that was not opened for weeks gets
-- none any more on some phones, so its account is told by mail.

-- One row an account: its rules, as the API takes them. No row: every way that there is.
create table notifications.preferences (
  account_id uuid primary key,
  rules jsonb not null,
  updated_at timestamptz not null
);

alter table notifications.subscriptions
  add column device_name text not null default '',
  add column hide_contents boolean not null default false,
  -- When its page was opened last. Those that are there count as seen now: they are silent in two weeks at the earliest.
  add column last_seen_at timestamptz not null default now(),
  add column last_delivered_at timestamptz;
