create schema devices;

-- A device id is the client's own and means something only within its account.
create table devices.devices (
  account_id uuid not null,
  id uuid not null,
  name text not null,
  platform text not null default '',
  created_at timestamptz not null default now(),
  last_seen timestamptz not null default now(),
  primary key (account_id, id)
);
