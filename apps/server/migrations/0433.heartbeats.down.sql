-- additive, concurrently
-- Why: lists ask for an account's monitors that are down, and would read those of all accounts by `monitors_down`. This one
-- cannot be used for them.
create index concurrently monitors_down_since on heartbeats.monitors (armed_at) where status = 'down' and armed_at is not null;
drop index concurrently heartbeats.monitors_down;
