create schema orgs;

create table orgs.orgs (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  created_at timestamptz not null default now()
);

create table orgs.members (
  org_id uuid not null references orgs.orgs (id) on delete cascade,
  account_id uuid not null,
  role text not null check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null default now(),
  primary key (org_id, account_id)
);
create index members_account on orgs.members (account_id);
