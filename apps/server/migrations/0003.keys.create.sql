create schema keys;

create table keys.keys (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  name text not null,
  -- HMAC-SHA-256 of the key's text under the master key; the text itself is stored nowhere.
  hash bytea not null unique,
  prefix text not null,
  last_four text not null,
  status text not null default 'active' check (status in ('active', 'paused', 'revoked')),
  scopes text[] not null,
  -- Null: the account's level.
  tool_level text check (tool_level in ('l0', 'l1', 'l2', 'l3_sandbox')),
  models text[],
  spend_cap_micro_usd bigint,
  expires_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now()
);
create index keys_account on keys.keys (account_id, created_at desc);
