-- Why: other features show a device by the name that it gave itself.
create view devices.devices_view as
select account_id, id, name, platform from devices.devices;
