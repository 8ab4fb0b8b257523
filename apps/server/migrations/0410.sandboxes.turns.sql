-- additive
-- Rounds of this platform at each node, told to it: one that is not above the last that the node heard comes from a copy.
alter table sandboxes.nodes add column turn bigint not null default 0;
-- The turn that the node had heard when it refused ours: another platform with this database's rows is ahead there.
alter table sandboxes.nodes add column ahead bigint;
