-- Devices that have a stream open, on which gateway: who is there needs no notification of what its stream tells. Unlogged:
-- gateways write their rows again every minute. Rows of a gateway that was killed go with its lease.
create unlogged table kernel.device_streams (
  account_id uuid not null,
  device_id uuid not null,
  gateway_id uuid not null references kernel.gateways on delete cascade,
  primary key (account_id, device_id, gateway_id)
);
create index device_streams_gateway on kernel.device_streams (gateway_id);
