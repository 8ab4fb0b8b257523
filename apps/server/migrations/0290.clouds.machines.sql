-- Why: machines of environments at providers. The state of the environment says what should be; a row here, what is.
create schema clouds;

create table clouds.machines (
  environment_id uuid primary key,
  -- Of the environment. They stay here when it is gone and its machine is not.
  provider text not null,
  region text not null,
  -- How often a machine was asked for: one that was archived is made anew.
  made int not null default 0,
  -- A machine may be there since then, whatever became of the answer; null: there is none.
  asked_at timestamptz,
  -- Its id at the provider, once it was told.
  ref text,
  -- What the provider said last, and since when it says so; null: it has none.
  status text,
  status_since timestamptz not null,
  -- Since when its provider does not do what it is asked for, and why.
  failing_since timestamptz,
  failure text,
  -- The state of the environment at the last look, and since when.
  seen_state text,
  seen_since timestamptz not null,
  due_at timestamptz not null,
  -- The look that is under way.
  leased_by uuid,
  leased_until timestamptz,
  created_at timestamptz not null
);
create index machines_due on clouds.machines (due_at);

-- Environments that may have a machine at their provider.
create view clouds.asked_view as select environment_id from clouds.machines where asked_at is not null;

-- Machines of this installation that no environment has, and since when they were found.
create table clouds.orphans (
  provider text not null,
  region text not null,
  ref text not null,
  seen_at timestamptz not null,
  primary key (provider, region, ref)
);
