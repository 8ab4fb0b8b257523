-- Which sandbox the requests of a session share (x-svc-session-id), until an hour after its last use. `handed`: SHA-256 of
-- each file that was handed out of it, by path.
create schema agent;
create table agent.sessions (
  account_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  sandbox_id uuid not null,
  handed jsonb not null default '{}',
  expires_at timestamptz not null,
  primary key (account_id, name)
);
create index sessions_age on agent.sessions (expires_at);
