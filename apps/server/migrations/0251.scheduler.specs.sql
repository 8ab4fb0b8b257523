-- Why: a spec may be 1 MiB, and each waiting run had a copy of its schedule's. A long one stands here once for all of them.
create table scheduler.specs (
  account_id uuid not null,
  schedule_id uuid not null,
  hash bytea not null,
  spec json not null,
  -- Touched by each run that is stored with it: what is being used is not swept.
  used_at timestamptz not null,
  primary key (schedule_id, hash)
);
create index specs_of_account on scheduler.specs (account_id);
alter table scheduler.runs add column spec_hash bytea;
create index runs_spec on scheduler.runs (schedule_id, spec_hash) where spec_hash is not null;
