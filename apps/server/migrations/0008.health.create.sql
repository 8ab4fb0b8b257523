create schema health;

-- Last known health of each configured provider.
create table health.providers (
  id text primary key,
  healthy boolean not null,
  checked_at timestamptz not null default now()
);
