-- Why: what an account may have was bounded nowhere. A row here stands above the setting of the installation.
create table kernel.quotas (
  account_id uuid not null,
  name text not null,
  most bigint not null check (most >= 0),
  primary key (account_id, name)
);
