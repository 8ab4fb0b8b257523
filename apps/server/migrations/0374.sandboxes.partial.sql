-- additive, concurrently
-- Why: as 0372.scheduler.partial.sql: the quota of an account read the sandboxes of all of them.
create index concurrently sandboxes_on_node on sandboxes.sandboxes (node_id)
  where state in ('creating', 'running', 'pausing', 'paused', 'resuming') and node_id is not null;
drop index concurrently sandboxes.sandboxes_node;
