-- What the identity provider keeps: provider sessions, interactions, codes, tokens, grants, clients that registered themselves.
-- Ids are HMACs, payloads are sealed: a dump holds nothing that can be used.
create table auth.records (
  model text not null,
  id_hash bytea not null,
  account_id uuid,
  client_id text,
  grant_id text,
  uid text,
  user_code_hash bytea,
  payload bytea not null,
  -- Where a client registered from.
  address text,
  created_at timestamptz not null default now(),
  -- Null: until it is removed.
  expires_at timestamptz,
  consumed_at timestamptz,
  primary key (model, id_hash)
);
create index records_grant on auth.records (grant_id) where grant_id is not null;
create index records_uid on auth.records (uid) where uid is not null;
create unique index records_user_code on auth.records (user_code_hash) where user_code_hash is not null;
create index records_expiry on auth.records (expires_at);
create index records_account on auth.records (account_id) where account_id is not null;

-- Keys that sign ID tokens. One that has not begun is published already; one that ended is published until its last token has.
create table auth.signing_keys (
  id text primary key,
  -- The private part, sealed.
  private_key bytea not null,
  created_at timestamptz not null default now(),
  began_at timestamptz,
  ended_at timestamptz
);

-- Apps that the operator registered.
create table auth.clients (
  id text primary key,
  name text not null,
  redirect_uris text[] not null,
  native boolean not null default false,
  -- HMAC of its secret; null: a public client.
  secret bytea,
  created_at timestamptz not null default now()
);
