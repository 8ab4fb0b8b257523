-- additive
-- Why: a prompt went to the device that was seen last, such as a command line that asks once and never listens.
alter table devices.devices add column listened_at timestamptz;
create view kernel.device_streams_view as
select s.account_id, s.device_id from kernel.device_streams s join kernel.gateways g on g.id = s.gateway_id
where g.lease_until > now();
