-- additive
-- Why: machines that were cloned from one image have one node id, and each took the sandboxes of the other for its own.
-- The process of the node that was seen last. Null: no gateway of this release has reached the node yet.
alter table sandboxes.nodes add column incarnation text;
-- Processes that have the id of a node which was seen elsewhere: refused while that one lives.
create table sandboxes.clones (
  node_id uuid not null references sandboxes.nodes on delete cascade,
  incarnation text not null,
  machine_name text not null,
  -- When it came first; a node that was seen after this lives beside it.
  since timestamptz not null,
  seen_at timestamptz not null,
  primary key (node_id, incarnation)
);
