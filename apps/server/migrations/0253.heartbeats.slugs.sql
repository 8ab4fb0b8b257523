-- Why: every job needed a secret of its own. With a slug a monitor is pinged under the account's one ping key too.
alter table heartbeats.monitors add column slug text;
create unique index monitors_slug on heartbeats.monitors (account_id, slug) where slug is not null;

-- One an account: making it anew ends the one before.
create table heartbeats.ping_keys (
  account_id uuid primary key,
  -- HMAC-SHA-256 of the key under the first master key; the key itself is stored nowhere.
  key_hash bytea not null unique,
  created_at timestamptz not null
);
