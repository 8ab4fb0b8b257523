-- Which sites the tools may reach (design: tools, the rules gate).
create schema rules;
create table rules.rules (
  id uuid primary key default gen_random_uuid(),
  -- Null: the operator's, for every account.
  account_id uuid,
  effect text not null check (effect in ('allow', 'deny')),
  -- A host and all below it, an address, or `*`.
  domain text not null,
  -- Null: both tools.
  tool text check (tool in ('search', 'fetch')),
  created_at timestamptz not null,
  unique nulls not distinct (account_id, domain, tool)
);
