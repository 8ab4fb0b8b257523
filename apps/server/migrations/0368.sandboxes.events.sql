-- Why: people see what became of a sandbox and why it ended. It goes with its sandbox, and keeps the last 200 of each.
create table sandboxes.events (
  seq bigint generated always as identity primary key,
  sandbox_id uuid not null references sandboxes.sandboxes on delete cascade,
  at timestamptz not null,
  kind text not null,
  detail jsonb not null
);
create index events_sandbox on sandboxes.events (sandbox_id, seq desc);
