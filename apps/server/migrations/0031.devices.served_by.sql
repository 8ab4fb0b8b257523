-- The key with which the device serves as a host; null: it never did.
alter table devices.devices add column served_by uuid;
