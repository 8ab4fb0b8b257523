-- Why: a browser comes to a published port with a ticket in the address, once, and has a cookie of that origin from then on.
create table environments.tickets (
  -- SHA-256 of the ticket, which is shown once.
  hash bytea primary key,
  environment_id uuid not null references environments.environments on delete cascade,
  port int not null,
  -- Who made it, and the key that made it: the cookie ends with either.
  account_id uuid not null,
  key_id uuid not null,
  expires_at timestamptz not null
);
create index tickets_by_account on environments.tickets (account_id, expires_at);
create index tickets_by_environment on environments.tickets (environment_id);
