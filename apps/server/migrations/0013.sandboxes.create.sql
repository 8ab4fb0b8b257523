create schema sandboxes;

-- Machines that hold sandboxes, as their node agents tell of them.
create table sandboxes.nodes (
  id uuid primary key,
  -- unix:<path of the agent's socket>
  address text not null,
  seen_at timestamptz not null default now(),
  -- Set while no gateway reaches it.
  missing_since timestamptz
);

create table sandboxes.sandboxes (
  id uuid primary key,
  -- Order of creation: sandboxes of one instant have one created_at.
  ordinal bigint not null generated always as identity,
  account_id uuid not null,
  key_id uuid not null,
  -- Where it is held; null until it was placed.
  node_id uuid,
  -- creating | running | pausing | paused | resuming | stopped | expired | destroyed
  state text not null,
  -- Since when a gateway moves it, for those that died meanwhile.
  moved_at timestamptz not null default now(),
  backend text not null,
  template text not null,
  egress json not null,
  metadata json not null,
  restored boolean,
  image_digest text,
  -- Counts what may have changed the workspace.
  generation bigint not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- What is left of its lifetime while it is paused.
  ttl_left_ms bigint,
  last_exec_at timestamptz,
  exec_count int not null default 0,
  exec_ms bigint not null default 0,
  snapshot_bytes bigint,
  parent_id uuid,
  -- The command that runs in it holds it until then; renewed while it runs.
  busy_by uuid,
  busy_until timestamptz
);
create index sandboxes_account on sandboxes.sandboxes (account_id, ordinal);
create index sandboxes_live on sandboxes.sandboxes (account_id)
  where state in ('creating', 'running', 'pausing', 'paused', 'resuming');
create index sandboxes_expiry on sandboxes.sandboxes (expires_at) where state = 'running';
create index sandboxes_busy on sandboxes.sandboxes (busy_until) where busy_by is not null;
create index sandboxes_node on sandboxes.sandboxes (node_id)
  where state in ('creating', 'running', 'pausing', 'paused', 'resuming');

-- Append-only (document 3, Events): every create, exec, file transfer, artifact, snapshot and destroy.
create table sandboxes.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  account_id uuid not null,
  -- Null: the platform itself.
  key_id uuid,
  sandbox_id uuid not null,
  action text not null,
  detail json not null default '{}'
);
create index audit_sandbox on sandboxes.audit (sandbox_id, id);

create function sandboxes.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'sandboxes.audit is append-only';
end $$;
create trigger audit_append_only before update or delete or truncate on sandboxes.audit
  for each statement execute function sandboxes.refuse_change();
