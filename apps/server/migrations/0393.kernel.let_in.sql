-- additive
-- Why: whom an app let in stayed when the app was disconnected: members, published ports, SSH keys, webhooks, links, keys of
-- pings. What stands here is taken back then.
create table kernel.let_in (
  connection_id uuid not null,
  -- What was let in, or `ended`: the connection has ended, and lets nothing in any more.
  kind text not null,
  -- Ids, the widest first, with `/` between.
  subject text collate "C" not null,
  account_id uuid not null,
  -- For people.
  name text not null,
  -- What it was before the app changed it; null: it was not there.
  before text,
  created_at timestamptz not null default now(),
  primary key (connection_id, kind, subject)
);
create index let_in_subject on kernel.let_in (kind, subject);
create index let_in_account on kernel.let_in (account_id);
