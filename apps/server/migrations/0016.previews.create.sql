create schema previews;

create table previews.previews (
  -- SHA-256 of the token.
  token_hash bytea primary key,
  account_id uuid not null,
  sandbox_id uuid not null,
  port int not null,
  expires_at timestamptz not null
);
create index previews_expiry on previews.previews (expires_at);
