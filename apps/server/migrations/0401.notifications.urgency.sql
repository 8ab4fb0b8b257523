-- additive
-- Why: 200 deliveries wait for a webhook that does not answer, and the oldest went, whatever it was: finished runs, or what others
-- caused, pushed out that a server is down. 0 is the most urgent (notifications.rules.ts); a release that does not say tells news.
alter table notifications.deliveries add column urgency smallint not null default 2;
