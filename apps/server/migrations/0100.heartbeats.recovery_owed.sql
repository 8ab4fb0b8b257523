-- Why: a monitor that was down, was paused and then pinged had its recovery told to nobody, while its alert stood.
-- A gateway of the version before leaves this as it is.
alter table heartbeats.monitors add column recovery_owed boolean not null default false;
