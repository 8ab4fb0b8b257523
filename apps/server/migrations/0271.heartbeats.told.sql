-- When those who follow the account's monitors were told of this one last: a monitor that is pinged each second is told at
-- most once in ten, unless its status changes.
alter table heartbeats.monitors add column told_at timestamptz;
