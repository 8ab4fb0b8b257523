-- additive
-- Why: an address is a path on a machine, and gateways of another machine with the same database dialled it on their own disk.
-- Both null: no gateway of this release has reached the node yet.
alter table sandboxes.nodes add column machine text, add column machine_name text;
-- Since when it is the node that new sandboxes go to; a node of another machine that comes later is refused.
alter table sandboxes.nodes add column taken_at timestamptz;
-- Set while it is refused: another machine's node has the new sandboxes.
alter table sandboxes.nodes add column refused_at timestamptz;
-- When a process beside it last looked that does what is due by the clock.
alter table sandboxes.nodes add column worked_at timestamptz;
