-- What a provider keeps of an account's responses, by hash: the store of a lane's key belongs to all accounts, so an id that
-- a request goes on from is looked up here. Providers keep responses for 30 days.
create table inference.stored (
  account_id uuid not null,
  id bytea not null,
  lane text not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);
create index stored_age on inference.stored (account_id, created_at desc);
