-- Why: runs with the target `cloud_vm` go to the machine of an environment in their project.
create view environments.daemons_view as
select account_id, project_id, device_id, provider,
  state = 'running' as is_there,
  state = any (array['creating', 'enrolling', 'starting']) as is_coming
from environments.environments where state <> 'destroyed';
