-- Why: people see what was asked of the platform by day, feature, key and device. Requests with a record of their own and those
-- that were counted by minute are told alike.
create view kernel.requests_view as
select account_id, at, key_id, device_id, route, status, 1::bigint as requests, bytes, ms::bigint as ms, cost_micro_usd
from kernel.usage_records
union all
select account_id, minute, key_id, null, route, status, requests, bytes, ms, 0 from kernel.usage_counts;
