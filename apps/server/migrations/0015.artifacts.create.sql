create schema artifacts;

-- Files that were taken out of sandboxes; the bytes are the blob artifacts/<id>.
create table artifacts.artifacts (
  id uuid primary key,
  account_id uuid not null,
  sandbox_id uuid not null,
  path text not null,
  bytes bigint not null,
  mime text not null,
  sha256 text not null,
  -- clean | infected | error
  scan text not null,
  created_at timestamptz not null,
  -- Of the newest link; past it the bytes are deleted.
  expires_at timestamptz not null
);
create index artifacts_sandbox on artifacts.artifacts (sandbox_id, path);
create index artifacts_account on artifacts.artifacts (account_id);
create index artifacts_expiry on artifacts.artifacts (expires_at);
