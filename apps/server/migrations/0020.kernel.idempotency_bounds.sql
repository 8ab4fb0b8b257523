-- Why: an answer with a secret was replayed to any key of the account, and answers were kept without a bound. `key_id` is
-- null in rows of the version before, which still run beside this one for a while.
alter table kernel.idempotency add column key_id uuid, add column not_kept text;

-- Answers that were shown once.
delete from kernel.idempotency where route in ('keys.create', 'heartbeats.create');

-- What an account has stored in a day, UTC.
create table kernel.idempotency_use (
  account_id uuid not null,
  day date not null,
  answers int not null default 0,
  bytes bigint not null default 0,
  primary key (account_id, day)
);
