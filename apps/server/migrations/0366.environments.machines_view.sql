-- Why: machines are shown in one list, with the environment that a machine is of.
create view environments.machines_view as
select id, account_id, project_id, device_id from environments.environments
where device_id is not null and state <> 'destroyed';
