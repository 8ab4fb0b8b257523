-- additive
-- Until when nobody is told that a monitor is down. It stays down, and is told again then: a pause would make it new.
alter table heartbeats.monitors add column muted_until timestamptz;
