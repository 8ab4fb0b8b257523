-- Why: projects group environments. One belongs to who made it, and may belong to an organisation besides.
create schema projects;

create table projects.projects (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  org_id uuid,
  name text not null,
  slug text not null,
  repo_url text,
  default_branch text not null,
  devcontainer_path text,
  isolation text not null,
  settings jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index projects_by_slug on projects.projects (account_id, slug);
create index projects_list on projects.projects (account_id, created_at desc, id desc);
create index projects_by_org on projects.projects (org_id, created_at desc, id desc) where org_id is not null;

-- For features that stand in a project.
create view projects.projects_view as
select id, account_id, org_id, name, slug, isolation from projects.projects;
