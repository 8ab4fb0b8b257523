-- Scopes of single routes (hosts:serve, hosts:exec, scheduler:serve). A column of their own: a gateway of the version before,
-- which may run beside this one, would refuse to list a key with a scope that it does not know.
alter table keys.keys add column own_scopes text[] not null default '{}';

-- Until now `hosts` and `scheduler` were enough to serve as a host: daemons that run with such a key go on.
update keys.keys set own_scopes = array_remove(array[
    case when 'hosts' = any(scopes) then 'hosts:serve' end,
    case when 'scheduler' = any(scopes) then 'scheduler:serve' end], null)
  where '*' <> all(scopes) and scopes && array['hosts', 'scheduler'];

-- For other features: keys that can be used, or could be again.
create view keys.live_view as
  select id, account_id from keys.keys where status <> 'revoked' and (expires_at is null or expires_at > now());
