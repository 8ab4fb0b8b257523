-- additive, concurrently
-- Why: how many monitors are down is a metric, which must not read those that are well.
create index concurrently monitors_down on heartbeats.monitors (status) where status = 'down' and status is not null;
