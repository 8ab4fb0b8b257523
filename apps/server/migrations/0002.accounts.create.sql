create schema accounts;

create table accounts.accounts (
  id uuid primary key default gen_random_uuid(),
  email text not null,
  name text not null default '',
  subscription text not null default 'active' check (subscription in ('active', 'inactive')),
  features jsonb not null default '{}',
  tool_level text not null default 'l0' check (tool_level in ('l0', 'l1', 'l2', 'l3_sandbox')),
  created_at timestamptz not null default now()
);
create unique index accounts_email on accounts.accounts (lower(email));

-- What the key look-up needs to know of an account; published to the feature `keys`.
create view accounts.standing_view as
  select id, subscription, features, tool_level from accounts.accounts;
