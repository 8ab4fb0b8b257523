-- additive
-- Why: a port that every account of the installation may open was open to a member who had been taken out of its environment.
-- Who was taken out by others, until they are a member again.
create table environments.removed (
  environment_id uuid not null references environments.environments on delete cascade,
  account_id uuid not null,
  removed_at timestamptz not null,
  primary key (environment_id, account_id)
);
create index removed_by_account on environments.removed (account_id);
