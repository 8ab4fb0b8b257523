-- additive, concurrently
-- Why: how many apps are let in is a metric, which must not read those that are over.
create index concurrently connections_open on connections.connections (created_at) where ended_at is null and created_at is not null;
