-- Why: the platform enrols machines that it makes at a provider by itself, and gives each a key of its own.

-- Null: the platform made the token, for a machine of its own.
alter table environments.tokens alter column key_id drop not null;

-- The key with which an environment's machine serves it, and nothing else. It ends with the machine.
create table environments.machine_keys (
  environment_id uuid primary key references environments.environments on delete cascade,
  -- Of the key.
  account_id uuid not null,
  key_id uuid not null
);
create index machine_keys_by_account on environments.machine_keys (account_id);

create index environments_managed on environments.environments (id) where provider <> 'byo' and state <> 'destroyed';

-- Environments that have, or want, a machine at a provider.
create view environments.managed_view as
select e.id, e.account_id, e.provider, e.region, e.size, e.slug, e.state, e.started_at
from environments.environments e where e.provider <> 'byo' and e.state <> 'destroyed';
