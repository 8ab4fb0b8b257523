-- Why: machines are shown in one list, with those that are present now.
create view hosts.presence_view as
select account_id, device_id, os, hostname, roots, last_seen from hosts.presence where expires_at > now();
