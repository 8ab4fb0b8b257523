create schema wallet;

-- Append-only. A settlement that is retried carries the same source key and is counted once; the balance is the sum.
create table wallet.ledger (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  amount_micro_eur bigint not null,
  source_key text not null unique,
  note text not null default '',
  created_at timestamptz not null default now()
);
create index ledger_account on wallet.ledger (account_id, id);

create function wallet.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'wallet.ledger is append-only';
end $$;
create trigger ledger_append_only before update or delete or truncate on wallet.ledger
  for each statement execute function wallet.refuse_change();
