-- Why: people sign in by passkey, password or code, and a browser that is signed in stays so until it is ended.
alter table accounts.accounts
  -- Language of pages and mail; null: the browser's.
  add column locale text check (locale in ('en', 'ro')),
  -- Name of a zone as IANA has it; null: the browser's.
  add column tz text check (length(tz) <= 64),
  add column email_verified_at timestamptz,
  -- Runs this installation.
  add column operator boolean not null default false;

-- The first start made it.
update accounts.accounts set operator = true
where id = (select id from accounts.accounts order by created_at, id limit 1);

create or replace view accounts.standing_view as
  select id, subscription, features, tool_level, suspended_at is not null as suspended,
    subscription = 'active' and suspended_at is null as may_run,
    exists (select 1 from accounts.deletions d where d.account_id = a.id) as deleting,
    operator
  from accounts.accounts a;

create schema auth;

-- Browsers that are signed in, and for 30 days those that were: from their networks the owner is never kept out.
create table auth.logins (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  -- SHA-256 of the 32 random bytes in the cookie.
  token_hash bytea not null unique,
  -- When the person proved last who they are, and how (RFC 8176).
  auth_time timestamptz not null,
  amr text[] not null,
  -- As the person recognises it, such as `Firefox on Linux`.
  name text not null,
  platform text not null,
  -- An IPv4 address, or the /64 of an IPv6 address.
  network text not null,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  -- 90 days after it was made. It ends 30 days after it was seen last, if that is earlier.
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index logins_account on auth.logins (account_id, last_seen_at);
create index logins_seen on auth.logins (last_seen_at);

-- Logins that count now; published to all who keep something open for one.
create view auth.usable_view as
  select id, account_id from auth.logins
  where revoked_at is null and expires_at > now() and last_seen_at > now() - interval '30 days';

create table auth.passwords (
  account_id uuid primary key,
  -- PHC string of argon2id.
  hash text not null,
  changed_at timestamptz not null
);

create table auth.passkeys (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  credential_id bytea not null unique check (length(credential_id) <= 1023),
  -- As COSE has it.
  public_key bytea not null,
  counter bigint not null,
  backed_up boolean not null,
  transports text[] not null,
  name text not null,
  created_at timestamptz not null,
  last_used_at timestamptz
);
create index passkeys_account on auth.passkeys (account_id, created_at);

create table auth.recovery_codes (
  account_id uuid not null,
  -- HMAC under a lasting key: ten characters could be guessed from a plain hash.
  hash bytea not null,
  created_at timestamptz not null,
  used_at timestamptz,
  primary key (account_id, hash)
);

-- What is sent or shown once: links to set up, join, recover and sign a phone in, and codes by mail.
create table auth.links (
  id uuid primary key,
  purpose text not null check (purpose in ('setup', 'invite', 'recover', 'phone', 'mail')),
  -- Null: it is for an address, which may have no account.
  account_id uuid,
  email text check (length(email) <= 254),
  -- SHA-256 of 32 random bytes; null: it has a code only.
  token_hash bytea unique,
  -- HMAC under a lasting key.
  code_hash bytea,
  -- Wrong codes so far.
  tries int not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- A phone took it, and holds 32 random bytes with this SHA-256.
  claimed_at timestamptz,
  claim_hash bytea unique,
  -- The signed-in device picked the number that the phone shows.
  confirmed_at timestamptz,
  used_at timestamptz,
  -- It was taken back, or a wrong number was picked.
  ended_at timestamptz,
  details jsonb not null default '{}' check (length(details::text) <= 4096)
);
create index links_account on auth.links (account_id, created_at);
create index links_email on auth.links (lower(email), created_at) where email is not null;
create index links_code on auth.links (code_hash) where code_hash is not null;
create index links_expiry on auth.links (expires_at);

-- Challenges that a passkey signs, each for one answer.
create table auth.challenges (
  -- SHA-256 of the challenge.
  hash bytea primary key,
  purpose text not null check (purpose in ('register', 'prove')),
  -- Null: whoever signs in says it by their passkey.
  account_id uuid,
  expires_at timestamptz not null
);
create index challenges_expiry on auth.challenges (expires_at);
create index challenges_account on auth.challenges (account_id) where account_id is not null;

-- Wrong passwords, counted for an account (or an address without one) and a network, and for an account in all.
create table auth.guesses (
  -- HMAC of what is counted.
  hash bytea primary key,
  -- Null: nobody has the address.
  account_id uuid,
  failures int not null,
  failed_at timestamptz not null,
  -- No further try before; null: at once.
  waits_until timestamptz,
  expires_at timestamptz not null
);
create index guesses_expiry on auth.guesses (expires_at);
create index guesses_account on auth.guesses (account_id) where account_id is not null;
