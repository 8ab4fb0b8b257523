-- Why: an app that a person let in is listed and ended as one thing, whatever codes, tokens and keys it got.
create schema connections;
create table connections.connections (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  client_id text not null,
  name text not null,
  trust text not null check (trust in ('first-party', 'registered', 'document', 'unknown')),
  -- Where its answers are sent.
  host text,
  scopes text[] not null,
  resources text[] not null,
  -- The row of `keys.keys` that stands for it.
  key_id uuid not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  ended_at timestamptz
);
create unique index connections_client on connections.connections (account_id, client_id) where ended_at is null;
create index connections_list on connections.connections (account_id, created_at desc, id);
