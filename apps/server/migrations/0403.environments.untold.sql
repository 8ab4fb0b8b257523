-- additive
-- Why: what somebody changes past the budget of rows that they cause in others is told to those later, once.
create table environments.untold (
  environment_id uuid primary key references environments.environments on delete cascade,
  -- Whose budget it waits for.
  account_id uuid not null,
  due_at timestamptz not null
);
create index untold_due on environments.untold (due_at);
