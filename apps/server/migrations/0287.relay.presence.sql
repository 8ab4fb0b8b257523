-- Why: a daemon hangs on one relay, its clients and those who ask how it is may come to any other.
create schema relay;

-- A newer connection of a machine has a greater number.
create sequence relay.epochs;

create table relay.presence (
  environment_id uuid primary key,
  -- Of the key that serves.
  account_id uuid not null,
  device_id uuid not null,
  instance_id uuid not null,
  -- Where other relays reach that one.
  peer_url text not null,
  epoch bigint not null,
  -- Null: it has not reported yet.
  lease_until timestamptz,
  reported_at timestamptz,
  report jsonb,
  -- A command ran on it then; without a gap since.
  usable_at timestamptz,
  usable_since timestamptz
);

-- A client of an environment at one relay: its connections together.
create table relay.attached (
  id uuid primary key default gen_random_uuid(),
  environment_id uuid not null,
  account_id uuid not null,
  instance_id uuid not null,
  client_id uuid not null,
  device_id uuid,
  role text,
  kind text not null,
  streams int not null,
  attached_at timestamptz not null
);
create index attached_environment on relay.attached (environment_id);
create index attached_instance on relay.attached (instance_id);
