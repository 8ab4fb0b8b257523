-- A key that may only serve holds one device: it must not become a second one that nobody has served as yet.
alter table devices.devices add column sole_key uuid;
update devices.devices d set sole_key = one.served_by
from (
  select distinct on (b.served_by) b.account_id, b.id, b.served_by
  from devices.devices b join keys.keys k on k.id = b.served_by
  where not exists (select 1 from unnest(k.scopes) as held (scope) where held.scope !~ ':(serve|read)$')
  order by b.served_by, b.last_seen desc
) one
where d.account_id = one.account_id and d.id = one.id;
create unique index devices_by_sole_key on devices.devices (sole_key) where sole_key is not null;
