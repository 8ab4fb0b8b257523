-- Why: a machine that has only Node.js becomes a host with a code for one use; the code itself is not kept.
create table hosts.invites (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  code_hash bytea not null unique,
  -- The key that made it, which the host's key will belong to.
  key_id uuid not null,
  name text,
  expires_at timestamptz not null
);
create index invites_of_account on hosts.invites (account_id);
