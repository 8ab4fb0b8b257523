-- Why: alerts reached browsers and e-mail only. An account's webhooks are a third channel of the outbox. A gateway of the
-- version before delivers none of them (it takes its own two channels), and what it tells an account goes to no webhook.

-- `sealed` holds what is secret: address (that of a chat is a credential), signing secrets, headers.
create table notifications.webhooks (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  name text not null,
  format text not null check (format in ('svc', 'slack', 'ntfy')),
  -- Types, or their beginnings; null: all.
  types text[],
  enabled boolean not null,
  -- Why the platform switched it off.
  disabled_reason text,
  -- The first attempt since which none arrived.
  failing_since timestamptz,
  sealed bytea not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index webhooks_account on notifications.webhooks (account_id, created_at, id);

alter table notifications.deliveries add column webhook_id uuid references notifications.webhooks on delete cascade;
alter table notifications.deliveries drop constraint deliveries_channel_check;
alter table notifications.deliveries add constraint deliveries_channel_check
  check (channel in ('push', 'mail', 'webhook'));
create index deliveries_webhook on notifications.deliveries (webhook_id) where webhook_id is not null;

-- How attempts went, for whoever looks for a fault: the last ones of each webhook.
create table notifications.webhook_attempts (
  seq bigint generated always as identity primary key,
  webhook_id uuid not null references notifications.webhooks on delete cascade,
  message_id text not null,
  notification_id uuid,
  type text not null,
  at timestamptz not null,
  attempt int not null,
  ok boolean not null,
  status int,
  reason text,
  duration_ms int not null,
  next_attempt_at timestamptz
);
create index webhook_attempts_webhook on notifications.webhook_attempts (webhook_id, seq desc);
create index webhook_attempts_age on notifications.webhook_attempts using brin (at);
