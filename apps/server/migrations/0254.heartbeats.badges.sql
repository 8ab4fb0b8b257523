-- Why: who shows the state of a monitor on a page had to give that page an API key.
create table heartbeats.badges (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  -- Null: of all monitors of the account.
  monitor_id uuid unique references heartbeats.monitors (id) on delete cascade,
  -- HMAC-SHA-256 of the token under the first master key; the token itself is stored nowhere.
  token_hash bytea not null unique,
  created_at timestamptz not null
);
create index badges_account on heartbeats.badges (account_id, created_at);
create unique index badges_of_account on heartbeats.badges (account_id) where monitor_id is null;
