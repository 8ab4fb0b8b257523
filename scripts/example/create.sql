-- additive
-- Why: notes are kept by account, newest first.
create schema notes;

create table notes.notes (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null references accounts.accounts (id),
  text text not null,
  state text not null,
  created_at timestamptz not null,
  finished_at timestamptz
);
create index notes_by_account on notes.notes (account_id, created_at desc, id desc);
