-- Why: machines that developers work on, who may do what there, and a log of every change.
create schema environments;

create table environments.environments (
  id uuid primary key default gen_random_uuid(),
  -- Of who made it. Its members decide who may do what.
  account_id uuid not null,
  project_id uuid not null,
  org_id uuid,
  -- Of a project with a machine for each developer.
  for_account_id uuid,
  isolation text not null,
  name text not null,
  slug text not null,
  provider text not null,
  region text,
  size text,
  state text not null,
  state_reason text,
  device_id uuid,
  provider_ref text,
  public_ip text,
  idle_timeout_minutes int not null,
  last_activity_at timestamptz,
  started_at timestamptz,
  stopped_at timestamptz,
  hourly_rate_micro_eur int,
  included_seconds_used int not null default 0,
  metadata jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  destroyed_at timestamptz
);
create unique index environments_by_slug on environments.environments (slug);
create index environments_by_project on environments.environments (project_id, created_at desc, id desc);
create index environments_by_account on environments.environments (account_id) where state <> 'destroyed';
create index environments_by_device on environments.environments (account_id, device_id) where device_id is not null;
create index environments_gone on environments.environments (destroyed_at) where state = 'destroyed';
-- One live machine for each developer of a project: a second one at the same moment is found here.
create unique index environments_one_each on environments.environments (project_id, for_account_id)
  where for_account_id is not null and state not in ('archived', 'destroyed');

create table environments.members (
  environment_id uuid not null references environments.environments on delete cascade,
  account_id uuid not null,
  role text not null,
  linux_username text not null,
  -- Its ports begin at 20000 + 100 times this.
  place int not null,
  ssh_public_key text,
  provisioned_at timestamptz,
  created_at timestamptz not null,
  primary key (environment_id, account_id)
);
create index members_by_account on environments.members (account_id, environment_id);
create unique index members_by_name on environments.members (environment_id, linux_username);
create unique index members_by_place on environments.members (environment_id, place);

create table environments.ports (
  id uuid primary key default gen_random_uuid(),
  environment_id uuid not null references environments.environments on delete cascade,
  port int not null,
  protocol text not null,
  label text,
  visibility text not null,
  -- Null: their account was deleted.
  opened_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index ports_one on environments.ports (environment_id, port);

create table environments.secrets (
  environment_id uuid not null references environments.environments on delete cascade,
  name text not null,
  version int not null,
  -- The key of this secret alone, sealed by the master key; a rotation seals it anew and leaves the value.
  data_key bytea not null,
  value bytea not null,
  created_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, name)
);

create table environments.tokens (
  environment_id uuid primary key references environments.environments on delete cascade,
  -- SHA-256 of the token, which is shown once.
  hash bytea not null,
  -- Who made it must still be allowed to when it is taken.
  key_id uuid not null,
  created_by uuid not null,
  expires_at timestamptz not null,
  -- Taken by this device: its repeat is answered alike.
  used_by uuid
);
create unique index tokens_by_hash on environments.tokens (hash);

create table environments.events (
  environment_id uuid not null references environments.environments on delete cascade,
  id bigint generated always as identity,
  actor_id uuid,
  actor_kind text not null,
  kind text not null,
  payload jsonb not null,
  created_at timestamptz not null,
  primary key (environment_id, id)
);
create index events_old on environments.events (created_at);

-- Who sees a project because of an environment in it, and what keeps a project.
create view environments.members_view as
select m.environment_id, m.account_id, m.role, e.project_id, e.state
from environments.members m join environments.environments e on e.id = m.environment_id;
create view environments.environments_view as
select id, account_id, project_id, device_id, state from environments.environments;
