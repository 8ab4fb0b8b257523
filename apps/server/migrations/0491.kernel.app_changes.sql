-- additive
-- Why: what an app changed stayed when it was disconnected: addresses of pings and secrets of webhooks that it had
-- seen, monitors
-- that it silenced, rules of notifications. What stands here is undone then where it can be, and named where not.
create table kernel.app_changes (
  connection_id uuid not null,
  kind text not null,
  -- Ids, the widest first, with `/` between.
  subject text collate "C" not null,
  account_id uuid not null,
  -- For people.
  name text not null,
  -- What it was before the app changed it first, where that can be put back.
  before text,
  created_at timestamptz not null default now(),
  primary key (connection_id, kind, subject)
);
create index app_changes_subject on kernel.app_changes (kind, subject);
create index app_changes_account on kernel.app_changes (account_id);
