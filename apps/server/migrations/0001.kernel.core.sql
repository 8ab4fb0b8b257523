-- Processes that serve this database; a row counts while its lease lasts.
create table kernel.gateways (
  id uuid primary key,
  lease_until timestamptz not null,
  -- It did not acknowledge an announcement: whatever it remembers may be stale.
  missed boolean not null default false
);

-- Small facts about the installation, such as which master key its secrets were made with.
create table kernel.facts (
  name text primary key,
  value bytea not null
);

-- One row an authenticated request. Written in batches, read by time and account: BRIN keeps the index tiny.
create table kernel.usage_records (
  at timestamptz not null,
  account_id uuid not null,
  key_id uuid not null,
  device_id uuid,
  route text not null,
  status int not null,
  bytes bigint not null,
  ms int not null,
  cost_micro_usd bigint not null,
  trace_id text not null
);
create index usage_records_at on kernel.usage_records using brin (at);
create index usage_records_account on kernel.usage_records (account_id, at);

-- Stored responses of requests with an Idempotency-Key. `status` is null while the first request runs.
create table kernel.idempotency (
  account_id uuid not null,
  route text not null,
  key text not null,
  request_hash bytea not null,
  gateway_id uuid not null,
  status int,
  response bytea,
  expires_at timestamptz not null default now() + interval '24 hours',
  primary key (account_id, route, key)
);
create index idempotency_expiry on kernel.idempotency (expires_at);

-- Rate windows of a minute. Counters that a crash may lose: unlogged saves their WAL.
create unlogged table kernel.rate_windows (
  name text not null,
  subject text not null,
  starts_at timestamptz not null,
  used bigint not null,
  granted bigint not null,
  primary key (name, subject, starts_at)
);

-- Permits of one lease: `share` of what is left, at least one, never more than is left.
create function kernel.rate_share(per_minute bigint, used bigint, share float8) returns bigint
  language sql immutable parallel safe
  return least(greatest(1, floor((per_minute - used) * share)::bigint), greatest(0, per_minute - used));

-- What each key has cost so far; published to the feature `keys`.
create view kernel.key_spend_view as
  select account_id, key_id, sum(cost_micro_usd)::bigint as cost_micro_usd
  from kernel.usage_records group by account_id, key_id;
