create schema hosts;

-- Hosts that hold a stream open. A newer stream of the same device takes the row over with a higher epoch.
create sequence hosts.presence_epoch;
create table hosts.presence (
  account_id uuid not null,
  device_id uuid not null,
  epoch bigint not null default nextval('hosts.presence_epoch'),
  gateway_id uuid not null,
  os text not null,
  hostname text not null,
  roots text[] not null,
  since timestamptz not null default now(),
  last_seen timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (account_id, device_id)
);

-- Calls that cross gateways. Frames and results are text: they may hold escapes that jsonb refuses. Unlogged: a call
-- whose database died is over in any case, and a commit that writes no WAL waits for no disk.
create unlogged table hosts.calls (
  req_id uuid primary key,
  account_id uuid not null,
  device_id uuid not null,
  -- Gateway whose caller waits, and gateway that holds the host's stream.
  origin_id uuid not null,
  carrier_id uuid not null,
  -- Null once it was taken to be written to the host: never twice.
  frame text,
  result text,
  expires_at timestamptz not null
);
create index calls_expiry on hosts.calls (expires_at);
create unique index presence_epoch_key on hosts.presence (epoch);
