-- Why: a code takes over only the device that its maker named; any other device that serves already keeps its key.
alter table hosts.invites add column device_id uuid;
