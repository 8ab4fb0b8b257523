-- additive
-- Why: a deletion was forgotten after a day. Where no backup was made meanwhile, or the store of backups was away, the list beside
-- the backups never learnt of it, and a restore brought the account back.
-- SHA-256 of the id, which tells nobody whose account it was; kept as long as backups may be.
create table accounts.deleted (
  id_hash bytea primary key,
  deleted_at timestamptz not null
);
create index deleted_by_age on accounts.deleted (deleted_at);
