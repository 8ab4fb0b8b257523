create schema notifications;

-- The inbox. `seq` is the order in which they came; two of one transaction share an instant.
create table notifications.notifications (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity,
  account_id uuid not null,
  dedupe_key text not null,
  type text not null,
  title text not null,
  body text not null,
  url text,
  severity text not null check (severity in ('info', 'warning', 'critical')),
  -- Not jsonb: it is answered as it came, escapes included that jsonb refuses.
  data json,
  created_at timestamptz not null,
  read_at timestamptz,
  archived_at timestamptz,
  unique (account_id, dedupe_key)
);
create index notifications_inbox on notifications.notifications (account_id, seq desc);
create index notifications_unread on notifications.notifications (account_id, seq desc)
  where read_at is null and archived_at is null;
create index notifications_age on notifications.notifications using brin (created_at);

-- Browsers that are told. An endpoint is a secret, and may be longer than an index takes: its hash is unique.
create table notifications.subscriptions (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  endpoint text not null,
  endpoint_hash bytea not null,
  p256dh text not null,
  auth text not null,
  created_at timestamptz not null,
  unique (account_id, endpoint_hash)
);
create index subscriptions_endpoint on notifications.subscriptions (endpoint_hash);

-- E-mail that other features send. Kept for a while after delivery: the key is what a repeat is known by.
create table notifications.mails (
  id uuid primary key default gen_random_uuid(),
  dedupe_key text not null unique,
  recipient text not null,
  subject text not null,
  body text not null,
  html text,
  created_at timestamptz not null
);
create index mails_age on notifications.mails using brin (created_at);

-- The outbox: one row a target, gone once it is delivered or given up. `due_at` is when it is tried next; whoever
-- takes it moves that on by a lease, so a killed process holds nothing up for longer.
create table notifications.deliveries (
  id uuid primary key default gen_random_uuid(),
  channel text not null check (channel in ('push', 'mail')),
  -- Whose it is: an account, or an address that e-mail goes to. Slots are shared out by it.
  lane text not null,
  notification_id uuid references notifications.notifications (id) on delete cascade,
  subscription_id uuid references notifications.subscriptions (id) on delete cascade,
  mail_id uuid references notifications.mails (id) on delete cascade,
  attempts int not null default 0,
  due_at timestamptz not null
);
create index deliveries_due on notifications.deliveries (due_at);
create index deliveries_notification on notifications.deliveries (notification_id);
create index deliveries_subscription on notifications.deliveries (subscription_id);
create index deliveries_mail on notifications.deliveries (mail_id);
