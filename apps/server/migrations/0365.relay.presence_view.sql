-- Why: the machine of an environment is online while it hangs on a relay that lives.
create view relay.presence_view as
select p.environment_id, p.account_id, p.device_id from relay.presence p
where p.lease_until > now() and exists (select from kernel.live_gateways_view g where g.id = p.instance_id);
