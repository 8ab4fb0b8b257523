-- Why: machines are shown in one list, with when a device came, when it was seen last, and the key that serves as it.
create or replace view devices.devices_view as
select account_id, id, name, platform, created_at, last_seen, served_by from devices.devices;
