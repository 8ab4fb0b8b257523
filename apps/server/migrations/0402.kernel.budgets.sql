-- additive
-- Why: a request may write a row for each of 200 other accounts, which pay for it. Whoever causes that has a budget of such rows.
create table kernel.budgets (
  name text not null,
  subject text not null,
  -- What was left at `at`: below 0 it is owed.
  units double precision not null,
  at timestamptz not null,
  granted boolean not null,
  primary key (name, subject)
);
create index budgets_age on kernel.budgets using brin (at);
