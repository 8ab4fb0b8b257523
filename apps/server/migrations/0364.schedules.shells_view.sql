-- Why: a machine shows the commands that wait for its approval.
create view schedules.shells_view as
select id, account_id, name, left(spec->>'command', 2000) as command, command_hash,
  coalesce(target->>'type', 'any') as target_type, (target->>'device_id')::uuid as device_id,
  (target->>'project_id')::uuid as project_id, target->'tags' as tags, failover, created_at, updated_at
from schedules.schedules where kind = 'shell' and enabled and command_hash is not null;
