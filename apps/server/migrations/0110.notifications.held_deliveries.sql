-- Why: after a receiver recovers its other deliveries are due at once, except those that a process is sending now: until
-- `held_until`. A gateway of the version before sets none, so in the time of an upgrade one of its may be sent twice.
alter table notifications.deliveries add column held_until timestamptz;
