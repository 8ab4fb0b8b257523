-- Machines that handed the run back: what a device approved in the account was not approved on the machine.
alter table scheduler.runs add column refused_by uuid[] not null default '{}';
