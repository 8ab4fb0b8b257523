-- additive
-- Why: a test of notifications said "sent" of what nobody knew. Whoever delivers notes here how the first attempt at each
-- of its deliveries went, by their ids, for the gateway that waits for it.
alter table notifications.notifications add column outcomes jsonb;
