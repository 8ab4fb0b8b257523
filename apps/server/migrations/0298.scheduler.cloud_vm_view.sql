-- Why: a run with the target `cloud_vm` may wait for a machine that stands still; whoever starts it asks for these.
create view scheduler.cloud_vm_view as
select r.id as run_id, r.account_id, r.target_id as project_id, r.schedule_id, r.kind, r.command_hash, r.refused_by, r.not_before
from scheduler.runs r where r.state = 'pending' and r.pool = 'host' and r.target_type = 'cloud_vm';
create index runs_cloud_vm on scheduler.runs (account_id, target_id)
  where state = 'pending' and pool = 'host' and target_type = 'cloud_vm';

-- When machines that take runs were seen last.
create view scheduler.seen_view as select account_id, device_id, last_seen from scheduler.hosts;
