-- Why: hours in which machines at a provider ran cost their account money, and a month of an environment may have a budget.

create table environments.hours (
  -- It stays when the environment is swept: what it cost is still to be paid.
  environment_id uuid not null,
  starts_at timestamptz not null,
  -- Who pays.
  account_id uuid not null,
  -- In which the environment ran, and those of them that cost nothing.
  seconds int not null,
  included_seconds int not null default 0,
  -- Null: the hour is not charged yet.
  charged_micro_eur int,
  -- Null beside a charge: the wallet did not hold it.
  paid_at timestamptz,
  primary key (environment_id, starts_at)
);
create index hours_open on environments.hours (starts_at) where charged_micro_eur is null;
create index hours_unpaid on environments.hours (account_id, starts_at)
  where charged_micro_eur is not null and paid_at is null;

create table environments.meters (
  environment_id uuid primary key references environments.environments on delete cascade,
  -- Its time is in hours until then, in whole seconds; null: it does not run.
  counted_until timestamptz,
  -- The month, as 2026-11, in which its members were told that so many percent of the budget are used.
  told_month text,
  told_percent int not null default 0
);
create index meters_running on environments.meters (environment_id) where counted_until is not null;
